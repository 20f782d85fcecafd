//! The calls of a deployer: what becomes of each on its way to an API server and back.

use super::*;

impl DeployerRole {
    /// One call leaves. What writes needs the lease when it is sent, as in the shell.
    pub(super) fn send(&mut self, world: &mut World, lease: bool) {
        if self.calls.is_empty() {
            return;
        }
        let index = if world.rough { world.random.random_range(0..self.calls.len()) } else { 0 };
        world.coverage.many(Fault::Reorder, u64::from(index > 0));
        let call = self.calls.remove(index);
        if !call.request.is_read() && !lease {
            return self.reply(call, transient("the lease has lapsed"));
        }
        if call.way.is_none() {
            return self.reply(call, transient("no such cluster"));
        }
        // The shell gives a call up that has not left. With what it takes on its way it arrives within the time that
        // the core reckons with.
        if world.now - call.asked_at >= MEMBER_TTL {
            return self.reply(call, transient("no answer in time"));
        }
        let longest = CALL_TIMEOUT / STEP;
        let at = world.now + world.random.random_range(1..longest) * STEP;
        if !call.request.is_read() && world.mishap(Fault::GivenUp, 0.005) {
            self.reply(call.clone(), unanswered());
            // Nobody waits for its answer.
            return self.flying.push((at, Call { life: 0, ..call }));
        }
        if world.mishap(Fault::Delay, 0.03) {
            return self.flying.push((at, call));
        }
        self.serve(world, call);
    }

    /// Tells what is called. Nobody outside writes to a cluster that pulls.
    fn note(&self, world: &mut World, call: &Call) {
        if !matches!(call.request, Request::Read(_)) {
            world.tell(|| {
                let (name, cluster, request) = (self.name(), &call.cluster.name, &call.request);
                format!(
                    "{name} {} calls {cluster} (asked at {}) {request:.400?}",
                    self.seat.index,
                    call.asked_at / STEP
                )
            });
        }
        if self.only.is_none() && !call.request.is_read() && world.pulls(&call.cluster.name) {
            let violation = format!("{} is written to from outside, and pulls", call.cluster);
            world.violation.get_or_insert(violation);
        }
    }

    pub(super) fn serve(&mut self, world: &mut World, call: Call) {
        if call.life != self.life {
            world.coverage.note(Fault::Orphan);
        }
        self.note(world, &call);
        let deletes = matches!(call.request, Request::Delete { .. });
        let held = (deletes && world.mishap(Fault::Finalizer, 0.2))
            .then(|| world.now + world.random.random_range(1..100) * STEP);
        let answers = world.answers(&call.cluster.name);
        let Some(server) = world.clusters.get_mut(call.cluster.name.as_str()) else { return };
        if !answers || call.way < Some(server.born) {
            return self.reply(call, transient("the server is away"));
        }
        if let Some((fault, failure)) = server.refusals.refuse(&call.request) {
            world.coverage.note(fault);
            return self.reply(call, Reply::Failed(failure));
        }
        if world.rough && world.random.random_bool(0.003) {
            world.coverage.note(Fault::ProxyNotFound);
            let failure = proxy_answer(&call.request, world.random.random_bool(0.5));
            return self.reply(call, Reply::Failed(failure));
        }
        let name = call.cluster.name.as_str();
        if let Some(violation) = forbidden((name, server), &call.request, &world.management, &world.history) {
            world.violation.get_or_insert(format!("{name}: {violation}"));
        }
        let (reply, written) = server.call(&call.request, held);
        let violation = written.as_ref().and_then(|written| in_spite_of(world, name, &call.request, written));
        world.violation = world.violation.take().or(violation);
        let Some(server) = world.clusters.get_mut(name) else { return };
        if let (Request::Delete { key, .. }, Some(_)) = (&call.request, &written)
            && server.adopted.contains(key)
        {
            let violation = format!("{name}: {key} is deleted, and is a user's");
            world.violation.get_or_insert(violation);
        }
        if goes_with_its_maker(server, &world.management) {
            world.history.reason_at(Addon::Own, &call.cluster.name);
        }
        let is_known = written.as_ref().is_some_and(|written| server.has_noted_fields(&written.key));
        let reply = server.note_form(&call.request, reply, call.newer);
        let released = written.is_some() && matches!(call.request, Request::Release { .. });
        world.coverage.many(Fault::Released, u64::from(released));
        if let Some(Written { key, old, new }) = &written
            && let Err(violation) =
                world.history.check(&call.cluster.name, key, old.as_deref(), new.as_deref())
        {
            world.violation.get_or_insert(violation);
        }
        let lost = world.mishap(Fault::Unanswered, 0.005);
        // Before a watch has shown anything, and of what nobody knows what was left of it, nobody knows that it is put right.
        let knows = |watch: &KindWatch| watch.cluster == call.cluster && watch.had_shown(call.asked_at);
        let counts = !lost && call.life == self.life && is_known && self.watches.iter().any(knows);
        if let Some(written) = written.filter(|_| counts) {
            let Seat { role, index } = self.seat;
            world.note_righted(&call.cluster.name, (role, index, self.life), &written);
        }
        self.reply(call, if lost { unanswered() } else { reply });
    }

    pub(super) fn reply(&mut self, call: Call, reply: Reply) {
        if call.life == self.life {
            self.replies.push(deployer::ExternalInput::Reply(call.cluster, call.id, reply));
        }
    }
}

fn transient(text: &str) -> Reply {
    Reply::Failed(Failure::new(Class::Transient, text))
}

fn unanswered() -> Reply {
    Reply::Failed(Failure::new(Class::Unanswered, "no answer in time"))
}
