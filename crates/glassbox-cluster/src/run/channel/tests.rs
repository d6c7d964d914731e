//! Channels over connections that break.

use glassbox::io::Dice;

use super::*;

const WHO: Identity = Identity { me: Address::Coordinator(0), cluster: 1, catalog: 2 };
const PEER: Address = Address::Replica { partition: 0, replica: 0 };

fn conversation() -> Channel {
    Channel::new(WHO.me, PEER)
}

/// A process at one end: its channel, the bytes on their way to it, and what it received.
struct End {
    incarnation: u64,
    talk: Channel,
    wire: Vec<u8>,
    heard: Vec<u32>,
}

impl End {
    fn new(incarnation: u64) -> Self {
        Self { incarnation, talk: conversation(), wire: Vec::new(), heard: Vec::new() }
    }

    /// Receives what has arrived, and sends an acknowledgement if it is due.
    fn hear(&mut self) {
        while let Some(frame) = decode(&self.wire, &WHO.frame(self.talk.received(), MAX_PAYLOAD_BYTES)).unwrap() {
            let (kind, bytes) = (frame.kind, frame.bytes);
            match kind {
                Kind::Taken => self.talk.taken(postcard::from_bytes(frame.payload).unwrap()).unwrap(),
                _ => self.heard.push(u32::from_le_bytes(frame.payload[..4].try_into().unwrap())),
            }
            self.wire.drain(..bytes);
            if let Some((_, taken)) = self.talk.took(bytes) {
                self.talk.say(&WHO, Kind::Taken, &postcard::to_allocvec(&taken).unwrap()).unwrap();
            }
        }
    }
}

/// The connection breaks, the bytes on it are lost, and the next one is made.
fn reconnect(a: &mut End, b: &mut End) -> (bool, bool) {
    [&mut *a, &mut *b].into_iter().for_each(|end| {
        end.talk.breaks();
        end.wire.clear();
    });
    let taken =
        |of: &End, by: &End| by.talk.heard().filter(|it| it.incarnation == of.incarnation).map_or(1, |it| it.received);
    let (of_a, of_b) = (taken(a, b), taken(b, a));
    (a.talk.goes_on(&WHO, b.incarnation, of_a).unwrap(), b.talk.goes_on(&WHO, a.incarnation, of_b).unwrap())
}

#[test]
fn each_frame_arrives_once_and_in_order_whenever_the_connection_breaks() {
    let mut dice = Dice(7);
    let (mut a, mut b, mut said, mut kept) = (End::new(1), End::new(2), [0_u32; 2], 0);
    assert_eq!(reconnect(&mut a, &mut b), (false, false));
    for _ in 0..20_000 {
        let (from, to, said) =
            if dice.below(2) == 0 { (&mut a, &mut b, &mut said[0]) } else { (&mut b, &mut a, &mut said[1]) };
        match dice.below(10) {
            0..6 => {
                let payload = [&said.to_le_bytes()[..], &[0; 3_000]].concat();
                from.talk.say(&WHO, Kind::Message, &payload).unwrap();
                *said += 1;
            }
            6 | 7 => {
                let mut sent = Vec::new();
                from.talk.write(&mut sent).unwrap();
                // Not all of it need arrive.
                let arrives = if dice.below(3) == 0 { dice.below(sent.len() as u64 + 1) as usize } else { sent.len() };
                to.wire.extend(&sent[..arrives]);
                to.hear();
                if arrives < sent.len() {
                    assert_eq!(reconnect(&mut a, &mut b), (false, false));
                }
            }
            8 => assert_eq!(reconnect(&mut a, &mut b), (false, false)),
            _ => kept = kept.max(a.talk.output.len()),
        }
    }
    reconnect(&mut a, &mut b);
    for _ in 0..2 {
        a.talk.write(&mut b.wire).unwrap();
        b.hear();
        b.talk.write(&mut a.wire).unwrap();
        a.hear();
    }
    assert!(a.heard.iter().copied().eq(0..said[1]) && b.heard.iter().copied().eq(0..said[0]));
    // Acknowledged frames are dropped.
    assert!((1..1 << 20).contains(&kept), "{kept}");
}

#[test]
fn a_restarted_process_receives_only_what_was_sent_after_its_predecessor_disconnected() {
    let (mut a, mut b) = (End::new(1), End::new(2));
    reconnect(&mut a, &mut b);
    a.talk.say(&WHO, Kind::Message, &0_u32.to_le_bytes()).unwrap();
    a.talk.breaks();
    a.talk.say(&WHO, Kind::Message, &1_u32.to_le_bytes()).unwrap();
    let mut other = End::new(3);
    // Frames from before the break may have been received, later ones were not.
    assert_eq!(a.talk.goes_on(&WHO, other.incarnation, 1), Ok(true));
    assert_eq!(other.talk.goes_on(&WHO, a.incarnation, 1), Ok(false));
    a.talk.write(&mut other.wire).unwrap();
    other.hear();
    assert_eq!(other.heard, [1]);
}

#[test]
fn a_lost_frame_ends_the_channel_of_this_process_and_not_of_the_next() {
    let mut a = End::new(1);
    a.talk.goes_on(&WHO, 2, 1).unwrap();
    a.talk.say(&WHO, Kind::Message, &0_u32.to_le_bytes()).unwrap();
    assert!(a.talk.taken(3).unwrap_err().contains("it acknowledges 3 frames"));
    a.talk.taken(2).unwrap();
    a.talk.breaks();
    assert!(a.talk.goes_on(&WHO, 2, 1).unwrap_err().contains("restart it"));
    assert_eq!(a.talk.goes_on(&WHO, 2, 2), Ok(false), "an old greeting does no harm");
    assert!(a.talk.say(&WHO, Kind::Message, &vec![0; MAX_PAYLOAD_BYTES + 1]).is_err());
    a.talk.breaks();
    assert!(a.talk.goes_on(&WHO, 2, 2).unwrap_err().contains("the maximum is"));
    assert_eq!(a.talk.goes_on(&WHO, 3, 1), Ok(true));
}
