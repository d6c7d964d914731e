//! Channels over connections that break.

use std::sync::LazyLock;

use glassbox::Catalog;
use glassbox::io::Dice;

use super::*;

static WHO: LazyLock<Identity> = LazyLock::new(|| Identity::new(Address::Coordinator(0), 1, &Catalog::new()));
const PEER: Address = Address::Replica { partition: 0, replica: 0 };

fn new_channel() -> Channel {
    Channel::new(WHO.me, PEER)
}

/// A process at one end: its channel, the bytes on their way to it, and what it received.
struct End {
    incarnation: u64,
    channel: Channel,
    wire: Vec<u8>,
    received: Vec<u32>,
}

impl End {
    fn new(incarnation: u64) -> Self {
        Self { incarnation, channel: new_channel(), wire: Vec::new(), received: Vec::new() }
    }

    /// Receives what has arrived, and sends an acknowledgement if it is due.
    fn hear(&mut self) {
        while let Some(frame) = decode(&self.wire, &WHO.frame(self.channel.received(), MAX_PAYLOAD_BYTES)).unwrap() {
            let (kind, bytes) = (frame.kind, frame.bytes);
            match kind {
                Kind::Taken => self.channel.on_ack(postcard::from_bytes(frame.payload).unwrap()).unwrap(),
                _ => self.received.push(u32::from_le_bytes(frame.payload[..4].try_into().unwrap())),
            }
            self.wire.drain(..bytes);
            if let Some((_, taken)) = self.channel.on_frame(bytes) {
                self.channel.send_frame(&WHO, Kind::Taken, &postcard::to_allocvec(&taken).unwrap()).unwrap();
            }
        }
    }
}

/// The connection breaks, the bytes on it are lost, and the next one is made.
fn reconnect(a: &mut End, b: &mut End) -> (bool, bool) {
    [&mut *a, &mut *b].into_iter().for_each(|end| {
        end.channel.on_broken();
        end.wire.clear();
    });
    let taken = |of: &End, by: &End| {
        by.channel.heard().filter(|it| it.incarnation == of.incarnation).map_or(1, |it| it.received)
    };
    let (of_a, of_b) = (taken(a, b), taken(b, a));
    (a.channel.resume(&WHO, b.incarnation, of_a).unwrap(), b.channel.resume(&WHO, a.incarnation, of_b).unwrap())
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
                from.channel.send_frame(&WHO, Kind::Message, &payload).unwrap();
                *said += 1;
            }
            6 | 7 => {
                let mut sent = Vec::new();
                from.channel.write(&mut sent).unwrap();
                // Not all of it need arrive.
                let arrives = if dice.below(3) == 0 { dice.below(sent.len() as u64 + 1) as usize } else { sent.len() };
                to.wire.extend(&sent[..arrives]);
                to.hear();
                if arrives < sent.len() {
                    assert_eq!(reconnect(&mut a, &mut b), (false, false));
                }
            }
            8 => assert_eq!(reconnect(&mut a, &mut b), (false, false)),
            _ => kept = kept.max(a.channel.output.len()),
        }
    }
    reconnect(&mut a, &mut b);
    for _ in 0..2 {
        a.channel.write(&mut b.wire).unwrap();
        b.hear();
        b.channel.write(&mut a.wire).unwrap();
        a.hear();
    }
    assert!(a.received.iter().copied().eq(0..said[1]) && b.received.iter().copied().eq(0..said[0]));
    // Acknowledged frames are dropped.
    assert!((1..1 << 20).contains(&kept), "{kept}");
}

#[test]
fn a_restarted_process_receives_only_what_was_sent_after_its_predecessor_disconnected() {
    let (mut a, mut b) = (End::new(1), End::new(2));
    reconnect(&mut a, &mut b);
    a.channel.send_frame(&WHO, Kind::Message, &0_u32.to_le_bytes()).unwrap();
    a.channel.on_broken();
    a.channel.send_frame(&WHO, Kind::Message, &1_u32.to_le_bytes()).unwrap();
    let mut other = End::new(3);
    // Frames from before the break may have been received, later ones were not.
    assert_eq!(a.channel.resume(&WHO, other.incarnation, 1), Ok(true));
    assert_eq!(other.channel.resume(&WHO, a.incarnation, 1), Ok(false));
    a.channel.write(&mut other.wire).unwrap();
    other.hear();
    assert_eq!(other.received, [1]);
}

#[test]
fn a_lost_frame_ends_the_channel_of_this_process_and_not_of_the_next() {
    let mut a = End::new(1);
    a.channel.resume(&WHO, 2, 1).unwrap();
    a.channel.send_frame(&WHO, Kind::Message, &0_u32.to_le_bytes()).unwrap();
    assert!(a.channel.on_ack(3).unwrap_err().contains("it acknowledges 3 frames"));
    a.channel.on_ack(2).unwrap();
    a.channel.on_broken();
    assert!(a.channel.resume(&WHO, 2, 1).unwrap_err().contains("restart it"));
    assert_eq!(a.channel.resume(&WHO, 2, 2), Ok(false), "an old greeting does no harm");
    assert!(a.channel.send_frame(&WHO, Kind::Message, &vec![0; MAX_PAYLOAD_BYTES + 1]).is_err());
    a.channel.on_broken();
    assert!(a.channel.resume(&WHO, 2, 2).unwrap_err().contains("the maximum is"));
    assert_eq!(a.channel.resume(&WHO, 3, 1), Ok(true));
}
