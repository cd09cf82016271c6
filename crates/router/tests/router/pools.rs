//! Pools by model: whose workers get a request, and what a reload changes of them.

use crate::support::{Running, Worker};

#[tokio::test]
async fn a_request_stays_within_the_pool_of_its_model() {
    let workers = [
        Worker::start().await,
        Worker::start().await,
        Worker::start().await,
    ];
    let [usual, llama, embed] = &workers;
    let settings = format!(
        "pools:\n- {{name: llama, match: {{header: X-Model, values: [llama, lora-a]}}, workers: [{}], policy: least_requests}}\n- {{name: embed, match: {{path: /v1/chat}}, workers: [{}]}}\n",
        llama.url(),
        embed.url()
    );
    let router = Running::start(&[usual], &settings);
    let check = async |model: Option<&str>, expected: &Worker| {
        for key in 0..8 {
            let key = key.to_string();
            let mut headers = vec![("x-session-id", key.as_str())];
            headers.extend(model.map(|model| ("x-model", model)));
            let answer = router.ask(&headers, "{}").await;
            assert_eq!(answer.text(), expected.address.to_string(), "{model:?}");
        }
    };
    check(Some("llama"), llama).await;
    check(Some("lora-a"), llama).await;
    // Every request of these tests goes to /v1/chat/completions.
    check(Some("other"), embed).await;
    check(None, embed).await;
    assert_eq!(usual.requests(), 0);

    let state = router.state().await;
    let pools: Vec<&str> = state["workers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["pool"].as_str().unwrap())
        .collect();
    assert_eq!(pools, ["default", "llama", "embed"]);
    // By name, whichever pool it is in.
    let drain = format!("/drain?worker={}", llama.address);
    assert_eq!(router.admin("POST", &drain).await.status, 200);
    let model = [("x-model", "llama")];
    assert_eq!(router.ask(&model, "{}").await.status, 503);
    let explained = router.admin_with("GET", "/explain", &model, "").await;
    let explained: serde_json::Value = serde_json::from_slice(&explained.body).unwrap();
    assert_eq!(explained["pool"], "llama");
    assert_eq!(explained["reason"], "none_ready");
    let more = Worker::start().await;
    let url = more.url();
    let add = router.admin_with("POST", "/workers?pool=llama", &[], &url);
    assert_eq!(add.await.status, 201);
    router.until_state(&more, "ready").await;
    check(Some("llama"), &more).await;
}

#[tokio::test]
async fn what_fits_no_pool_is_told_so_where_there_is_nothing_beside_them() {
    let worker = Worker::start().await;
    let pool = "{name: llama, match: {header: X-Model, values: [llama]}, workers: [";
    let router = Running::before(&[], &format!("pools: [{pool}{}]}}]\n", worker.url()));
    let model = [("x-model", "llama")];
    assert_eq!(router.ask(&model, "{}").await.status, 200);
    let answer = router.ask(&[], "{}").await;
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("\"no_pool\""), "{}", answer.text());
    assert_eq!(router.admin("GET", "/explain").await.status, 404);
    // Nor does an alert wait for workers that nobody has announced.
    let page = router.admin("GET", "/metrics").await;
    assert!(
        page.text()
            .contains("headwater_pool_usable_workers{pool=\"llama\"} 1\n")
    );
    assert!(!page.text().contains("pool=\"default\""));
    // Added by hand, they are one more pool.
    let other = Worker::start().await.url();
    let added = router.admin_with("POST", "/workers", &[], &other).await;
    assert_eq!(added.status, 201);
    assert_ne!(router.ask(&[], "{}").await.status, 404);
}
