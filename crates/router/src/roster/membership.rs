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
    /// Makes the list the one that `origin` knows: adds, removes, changes weights. Gives the
    /// names that another origin has already.
    pub(crate) fn set_workers(
        &mut self,
        at: At,
        origin: Origin,
        workers: &[WorkerConfig],
        arrival: Arrival,
    ) -> Vec<String> {
        let stays = |member: &Member| {
            let same = |w: &&WorkerConfig| w.name == member.endpoint.name;
            workers
                .iter()
                .find(same)
                .is_some_and(|w| w.url == member.endpoint.url)
        };
        let own = |member: &&Member| member.origin == origin;
        let gone: Vec<String> = self
            .members
            .values()
            .filter(own)
            .filter(|member| !stays(member))
            .map(|member| member.endpoint.name.clone())
            .collect();
        for name in gone {
            self.leave(at, &name);
        }
        let joins = |config: &&WorkerConfig| !self.join(at, origin, config, arrival);
        let taken = workers.iter().filter(joins);
        taken.map(|config| config.name.clone()).collect()
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
            pressed_until: None,
            scrape: None,
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
        let worker = WorkerId::of(name);
        let member = self.members.remove(&worker)?;
        member.endpoint.remove();
        self.observe(at, &Event::Left { worker });
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
