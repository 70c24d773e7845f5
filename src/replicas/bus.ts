/** Identifies a run in all processes of a store. */
interface NamedRun {
  tenant: string
  owner: string
  requestId: string
}

/** Identifies a session by the caller's own id. */
export interface NamedSession {
  tenant: string
  owner: string
  sessionId: string
}

/** The topics and their payloads: names only, never content. */
export interface Topics {
  /** A process uses another configuration, stored or in memory. */
  configuration: { version: string }
  /** A starting process asks for other serving processes. */
  starting: { process: string }
  /** The answer of a serving process to `starting`. */
  serving: { process: string }
  /** An access key was revoked. */
  revoked: { jti: string }
  /** A session of the console has ended; `session` is the hash of its cookie. */
  console_session_ended: { session: string }
  /** A signing key was added or removed. */
  signing_keys: { newest: string }
  /** A process has exited: none of its leases count any more. */
  left: { holder: string }
  /** Jobs of the given kinds may be due. */
  jobs: { kinds: string[] }
  /** A schedule may be due sooner than before. */
  schedules: Record<string, never>
  /** Usage per caller id: requests since the last message, and current runs. Only changed values. */
  used: { process: string; requests: [id: string, count: number][]; runs: [id: string, count: number][] }
  /** A caller has a new sub-agent. */
  sub_agent: { tenant: string; owner: string }
  /** A queued run may use its session now. */
  turn: NamedRun
  /** The holder of the run must cancel the run. */
  cancel: NamedRun
  /** A message to the run is stored. */
  message: NamedRun
  /**
   * The run has ended, was interrupted, or has another holder. Published only for runs that another process may wait
   * for.
   */
  moved: NamedRun
  /** A run waits for approval, so later runs of its session need not wait for the run. */
  interrupted: NamedSession
  /** A session was deleted: all runs of the session must stop. */
  deleted: NamedSession
  /** A sub-agent was terminated: all work of the sub-agent must stop. */
  terminated: { id: string }
  /**
   * A process reads a run's events after number `after`, as numbered by the holder with this fence (0: no holder).
   * Repeated while the process reads.
   */
  read: NamedRun & { reader: string; fence: number; after: number; isObserver?: true }
  /** The reader has gone. */
  unread: NamedRun & { reader: string }
  /** The run's stored tail holds events up to number `upTo`; `fence` is the fence of the run's holder. */
  readable: NamedRun & { fence: number; upTo: number }
}

export type Topic = keyof Topics

/**
 * Port: publish and subscribe between processes that share a store. Messages may get lost, so subscribers must also
 * poll now and then. A process never gets its own messages.
 */
export interface Bus {
  /** Publishes after the announced change is committed. Never throws and does not wait. */
  publish<T extends Topic>(topic: T, data: Topics[T]): void
  /** Calls `listener` with each message; the returned function unsubscribes. */
  subscribe<T extends Topic>(topic: T, listener: (data: Topics[T]) => void): () => void
  /**
   * Calls `listener` after a lost connection is back, when messages may be missing; the returned function unsubscribes.
   */
  onGap(listener: () => void): () => void
}

/** The bus of a process with a private store. */
export const localBus: Bus = {
  publish: () => undefined,
  subscribe: () => () => undefined,
  onGap: () => () => undefined,
}

/**
 * Calls `refresh` soon after a change of data that several processes change, even when the messages get lost. A `refresh` that rejects
 * is called again. Returns a function to stop.
 */
export type Watch = (refresh: () => Promise<void>) => () => void

/** A watch without knowledge of changes: calls `refresh` at an interval. */
export function watchEvery(intervalMs: number): Watch {
  return (refresh) => {
    const timer = setInterval(() => void refresh().catch(() => undefined), intervalMs).unref()
    return () => clearInterval(timer)
  }
}
