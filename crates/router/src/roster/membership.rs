//! Who is on the list, by whom, and with which share of the work.

use std::sync::Arc;

use headwater_placement::{At, Event, Generation, WorkerId};
use headwater_signature::RouteTag;

use super::Roster;
use crate::breaker::Breaker;
use crate::config::WorkerConfig;
use crate::endpoint::Endpoint;
use crate::member::{Arrival, Health, Member, Origin, Service};

impl Roster {
    /// Removes the workers that `origin` named and does not name any more. Whoever waits for one
    /// of them waits on until [`Self::settle`]: another one may come at the same moment.
    pub(crate) fn retire(&mut self, at: At, origin: Origin, workers: &[WorkerConfig]) {
        let stays = |member: &Member| {
            let same = |w: &&WorkerConfig| w.name == member.endpoint.name;
            workers
                .iter()
                .find(same)
                .is_some_and(|w| w.url == member.endpoint.url)
        };
        let own = |member: &&Member| member.origin == origin;
        let gone: Vec<WorkerId> = self
            .members
            .values()
            .filter(own)
            .filter(|member| !stays(member))
            .map(|member| member.endpoint.id)
            .collect();
        for worker in gone {
            self.remove(at, worker);
        }
    }

    /// Calls those who waited for a worker that has left, or lets them know that there is none.
    pub(crate) fn settle(&mut self, at: At) {
        self.release(at);
    }

    /// Whether somebody else's worker has this name or this address, whatever is spoken there: a
    /// port has one engine. `own` is whose list this one is on, if its roster is this one.
    pub(crate) fn has_taken(&self, config: &WorkerConfig, own: Option<Origin>) -> bool {
        self.members.values().any(|member| {
            let same_name = member.endpoint.name == config.name;
            let is_it = same_name && own == Some(member.origin);
            let same_address = member.endpoint.url.authority() == config.url.authority();
            !is_it && (same_name || same_address)
        })
    }

    /// Adds a worker, or changes its weight if `origin` named it before. Gives whether it is
    /// now as `config` says; another origin's worker stays as it is.
    pub(crate) fn join(
        &mut self,
        at: At,
        origin: Origin,
        config: &WorkerConfig,
        arrival: Arrival,
    ) -> bool {
        let worker = WorkerId::of(&config.name);
        if let Some(member) = self.members.get_mut(&worker) {
            if member.origin != origin || member.endpoint.url != config.url {
                return false;
            }
            return self.set_weight(at, &config.name, config.weight).is_some();
        }
        let joined = Event::Joined {
            worker,
            name: &config.name,
            weight: config.weight,
        };
        self.fleet.observe(at, &joined);
        let member = Member {
            endpoint: Arc::new(Endpoint::new(config, self.pool, self.next_serial)),
            weight: config.weight,
            origin,
            service: Service::In,
            health: match arrival {
                Arrival::AtStart => Health::Up,
                Arrival::Later => Health::Unknown,
            },
            breaker: Breaker::default(),
            kept_told_at: None,
            pressed_until: None,
            scrape: None,
            joined_at: at,
            generation: Generation::default(),
            tag: RouteTag::of(&config.name, 0),
        };
        self.next_serial += 1;
        let state = member.state();
        self.members.insert(worker, member);
        self.fleet.observe(at, &Event::State { worker, state });
        true
    }

    /// Removes a worker, whoever named it; its streams go on. `None` if there is none.
    pub(crate) fn leave(&mut self, at: At, name: &str) -> Option<()> {
        self.remove(at, WorkerId::of(name))?;
        self.release(at);
        Some(())
    }

    fn remove(&mut self, at: At, worker: WorkerId) -> Option<()> {
        let member = self.members.remove(&worker)?;
        member.endpoint.remove();
        self.fleet.observe(at, &Event::Left { worker });
        Some(())
    }

    /// Changes a worker's share of the work; `None` if there is none of that name.
    pub(crate) fn set_weight(&mut self, at: At, name: &str, weight: f64) -> Option<()> {
        let worker = WorkerId::of(name);
        self.members.get_mut(&worker)?.weight = weight;
        let changed = Event::Joined {
            worker,
            name,
            weight,
        };
        self.fleet.observe(at, &changed);
        Some(())
    }

    /// Takes a worker out of service or puts it back; `None` if there is none of that name.
    pub(crate) fn set_service(&mut self, at: At, name: &str, service: Service) -> Option<()> {
        let endpoint = Arc::clone(&self.members.get(&WorkerId::of(name))?.endpoint);
        self.change(at, &endpoint, |member| {
            member.service = service;
            true
        });
        Some(())
    }
}
