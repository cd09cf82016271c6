//! The table by itself: who hangs on what, what ages, what is given up.

use super::*;

const A: RequestId = RequestId(1);
const B: RequestId = RequestId(2);

const NOW: Stamp = Stamp(0);

fn table(room: usize) -> Residency {
    Residency::new(Seed::new(0), room)
}

fn who(table: &Residency, name: u64) -> Vec<u16> {
    let holders = table.holders(Name::session(name));
    holders.iter().map(|h| h.slot.0).collect()
}

fn expect(table: &mut Residency, name: u64, slot: u16, by: RequestId) -> PlaceId {
    let by = (by, Firmness::Expected);
    table.expect(Name::session(name), Slot(slot), NOW, by).0
}

#[test]
fn a_failure_takes_back_only_what_hung_on_it() {
    let (mut table, w) = (table(8), Slot(0));
    let place = expect(&mut table, 7, 0, A);
    table.withdraw(place, A);
    assert_eq!(
        (who(&table, 7), table.len(), table.held_by(w)),
        (vec![], 0, 0)
    );

    // A second request relies on the same prefix: the first one's failure is not its own.
    let first = expect(&mut table, 7, 0, A);
    let second = expect(&mut table, 7, 0, B);
    table.withdraw(first, A);
    assert_eq!((who(&table, 7), first), (vec![0], second));

    // What was prefilled once is not undone by a later failure,
    table.confirm(second, NOW);
    let third = expect(&mut table, 7, 0, B);
    table.withdraw(third, B);
    assert_eq!(who(&table, 7), [0]);
    // unless it had been pushed out before that.
    table.charge(third, 10);
    table.fit(w, 9);
    let fourth = expect(&mut table, 7, 0, B);
    table.withdraw(fourth, B);
    assert_eq!(who(&table, 7), [0_u16; 0]);
}

#[test]
fn waiting_makes_nothing_less_certain() {
    let mut table = table(8);
    let firmness = |table: &Residency| table.holders(Name::session(7))[0].firmness;
    let plan = |table: &mut Residency, by| {
        table.expect(Name::session(7), Slot(0), NOW, (by, Firmness::Planned))
    };
    plan(&mut table, A);
    assert_eq!(firmness(&table), Firmness::Planned);
    let place = expect(&mut table, 7, 0, A);
    plan(&mut table, B);
    assert_eq!(firmness(&table), Firmness::Expected);
    table.withdraw(place, B);
    assert_eq!(who(&table, 7), [0], "it never hung on the second");
}

fn fresh(table: &Residency, name: u64) -> bool {
    table.holders(Name::session(name))[0].fresh
}

#[test]
fn what_was_used_least_lately_does_not_fit_the_cache() {
    let (mut table, w) = (table(8), Slot(0));
    for name in 1..=3 {
        let place = expect(&mut table, name, 0, A);
        table.charge(place, 40);
    }
    table.fit(w, 120);
    assert!(fresh(&table, 1));
    // The first is used again, so the second is the first to go;
    expect(&mut table, 1, 0, B);
    table.fit(w, 119);
    assert_eq!([1, 2, 3].map(|n| fresh(&table, n)), [true, false, true]);
    // it comes back when a request brings it anew.
    expect(&mut table, 2, 0, B);
    table.fit(w, 119);
    assert_eq!([1, 2, 3].map(|n| fresh(&table, n)), [true, true, false]);
    assert_eq!(table.held_by(w), 3, "what has aged out is not forgotten");
}

#[test]
fn only_being_sent_there_uses_a_prefix() {
    let (mut table, w) = (table(8), Slot(0));
    let places = [1, 2].map(|name| expect(&mut table, name, 0, A));
    for place in places {
        table.charge(place, 10);
        table.confirm(place, NOW);
    }
    let waits = (B, Firmness::Planned);
    table.expect(Name::session(1), w, NOW, waits);
    table.fit(w, 10);
    assert!(!fresh(&table, 1));
    // Once it has aged out, whoever waits will bring it anew.
    table.expect(Name::session(1), w, NOW, waits);
    assert!(fresh(&table, 1));
    table.withdraw(places[0], B);
    assert_eq!(who(&table, 1), [0_u16; 0]);
    assert_eq!(table.cached, [10]);
}

#[test]
fn each_worker_gives_up_its_own_least_recently_used() {
    let mut table = table(2);
    for name in 1..=2 {
        expect(&mut table, name, 0, A);
        expect(&mut table, name, 1, A);
    }
    expect(&mut table, 1, 0, B);
    expect(&mut table, 3, 0, B);
    assert_eq!(who(&table, 1), [0, 1]);
    assert_eq!(who(&table, 2), [1], "the other worker still has it");
    assert_eq!((who(&table, 3), table.len()), (vec![0], 3));
    table.forget(Slot(1));
    assert_eq!(
        (who(&table, 1), who(&table, 2), table.len()),
        (vec![0], vec![], 2)
    );
}

#[test]
fn engines_correct_the_table() {
    let mut table = table(8);
    table.store(Name::session(1), Slot(0), NOW);
    assert_eq!(who(&table, 1), [0]);
    table.remove(Name::session(1), Slot(1));
    assert_eq!(who(&table, 1), [0]);
    table.remove(Name::session(1), Slot(0));
    assert_eq!((who(&table, 1), table.len()), (vec![], 0));
}
