import type { MetricsSnapshot } from '../../metrics/snapshots.ts'

/** Messages between the supervisor, which serves no requests, and its workers. */

/** Facts about a started service, printed at the start. */
export interface ReadyInfo {
  /** Path of the admin key. */
  adminKeyFile: string
  /** Lines about the models. */
  advice: readonly string[]
  /** A question to try: the first conversation starter. */
  example: string
}

export type FromWorker =
  /** The worker listens for messages. */
  | { kind: 'hello' }
  /** The worker accepts connections. */
  | ({ kind: 'ready' } & ReadyInfo)
  /** The worker has received a connection. */
  | { kind: 'taken' }
  /** The worker accepts no more connections. */
  | { kind: 'leaving' }
  /** Requests the metrics of all workers. */
  | { kind: 'gather'; request: number }
  /** Metrics of the worker. `request` is absent on the last metrics, sent before the worker exits. */
  | { kind: 'metrics'; request?: number; metrics: MetricsSnapshot }

export type ToWorker =
  /** The answer to `hello`: how connections reach the service. */
  | { kind: 'address'; url: string }
  /** Sent along with the handle of a connection. */
  | { kind: 'connection' }
  | { kind: 'metrics'; request: number }
  | { kind: 'gathered'; request: number; all: MetricsSnapshot[] }
