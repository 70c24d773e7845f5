/** Names a run to every process that shares the store. */
export interface NamedRun {
  tenant: string
  owner: string
  requestId: string
}

/** Names a session as its caller does. */
export interface NamedSession {
  tenant: string
  owner: string
  sessionId: string
}

/** What there is to tell, and what goes with it: names, never content. */
export interface Topics {
  /** Another configuration is in use, stored or in memory. */
  configuration: { version: string }
  /** A process that starts asks whether others serve already. */
  starting: { process: string }
  /** The answer: this one does. */
  serving: { process: string }
  /** An access key was revoked. */
  revoked: { jti: string }
  /** There is another signing key, or one less. */
  signing_keys: { newest: string }
  /** A process leaves: nothing belongs to it any more. */
  left: { holder: string }
  /** Jobs of these kinds may be due. */
  jobs: { kinds: string[] }
  /** What callers, by their ids, asked of a process since it told last, and how many runs of theirs it has now: those that changed. */
  used: { process: string; requests: [id: string, count: number][]; runs: [id: string, count: number][] }
  /** A caller has a sub-agent more. */
  sub_agent: { tenant: string; owner: string }
  /** A waiting run has its session now. */
  turn: NamedRun
  /** Whoever has this run is to cancel it. */
  cancel: NamedRun
  /** The run has ended, was interrupted, or has another holder. Told of those runs alone that another process may wait for. */
  moved: NamedRun
  /** A run waits for approval: others of its session are not to wait for it. */
  interrupted: NamedSession
  /** A session was deleted: what still goes on in it is to stop. */
  deleted: NamedSession
  /** A sub-agent was terminated: what it does is to stop. */
  terminated: { id: string }
  /**
   * A process wants to read this run's events behind number `after`, as the process told them that had it with this fence (0: none did),
   * and says so again as long as it does.
   */
  read: NamedRun & { reader: string; fence: number; after: number }
  /** The reader has gone. */
  unread: NamedRun & { reader: string }
  /** The run's stored tail has events up to this number; `fence` is that of the process that has it. */
  readable: NamedRun & { fence: number; upTo: number }
}

export type Topic = keyof Topics

/**
 * Port: what processes that share a store tell each other at once. News may get lost: whoever depends on them looks for itself from time to
 * time too. Nothing is told to the process itself.
 */
export interface Bus {
  /** Never throws and waits for nothing; called after what it tells of is committed. */
  publish<T extends Topic>(topic: T, data: Topics[T]): void
  /** The returned function ends it. */
  subscribe<T extends Topic>(topic: T, listener: (data: Topics[T]) => void): () => void
  /** Called when some may have been missed: the connection was lost and is back. The returned function ends it. */
  onGap(listener: () => void): () => void
}

/** Of a process that shares its store with nobody. */
export const localBus: Bus = {
  publish: () => undefined,
  subscribe: () => () => undefined,
  onGap: () => () => undefined,
}
