import { channel } from 'node:diagnostics_channel'

/** Channel of rare states. The messages are names, listed in `proofs/chaos/states.ts` with the invariant at risk. */
export const statesChannel = 'agent-core.states'

const states = channel(statesChannel)

/** Publishes that the service enters a rare state. Without a subscriber the call costs one comparison. Never called per token. */
export function reachState(name: string): void {
  if (states.hasSubscribers) states.publish(name)
}
