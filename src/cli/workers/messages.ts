import type { MetricsSnapshot } from '../../metrics/snapshots.ts'

/** What the processes of one service tell each other: the supervisor, which serves nothing, and its workers. */

/** What the start tells of a service. */
export interface Ready {
  /** Path of the administrator's key. */
  adminKeyFile: string
  /** A line each, of its models. */
  advice: readonly string[]
  /** A question to try: the first conversation starter. */
  example: string
}

export type FromWorker =
  /** It listens to what it is told. */
  | { kind: 'hello' }
  /** It can take connections. */
  | ({ kind: 'ready' } & Ready)
  /** It has the connection that it was given. */
  | { kind: 'taken' }
  /** It takes no more connections. */
  | { kind: 'leaving' }
  /** Asks for the figures of all workers. */
  | { kind: 'gather'; request: number }
  /** Its own; without a request the last ones, before it ends. */
  | { kind: 'metrics'; request?: number; metrics: MetricsSnapshot }

export type ToWorker =
  /** The answer to `hello`: how connections reach the service. */
  | { kind: 'address'; url: string }
  /** Comes with a connection. */
  | { kind: 'connection' }
  | { kind: 'metrics'; request: number }
  | { kind: 'gathered'; request: number; all: MetricsSnapshot[] }
