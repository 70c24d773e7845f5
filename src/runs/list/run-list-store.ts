import type { Owner } from '../../access/owner.ts'
import type { ErrorBody } from '../../errors.ts'
import type { RowPosition } from '../../json/offset.ts'
import type { Operation, RunKey, RunStatus } from '../run.ts'

/** Port: the runs of a tenant as a list, newest first. Direct tool executions and removed runs are not listed. */
export interface RunListStore {
  list(caller: Owner, page: RunPage): Promise<ListedRun[]>
}

/** Undefined filters select every run. */
export interface RunFilters {
  status: RunStatus | undefined
  sessionId: string | undefined
  operation: Operation | undefined
  /** The `sub` of the owner, of any issuer. */
  sub: string | undefined
  /** Selects ended runs that have called the tool. */
  tool: string | undefined
  /** True: ended runs in which a tool call has failed; false: the other runs. */
  toolErrors: boolean | undefined
  /** Version of the configuration. */
  version: string | undefined
  /** Bounds of the time of acceptance, in epoch milliseconds: `since` inclusive, `until` exclusive. */
  since: number | undefined
  until: number | undefined
}

/** Selects every run. */
export const noFilters: RunFilters = {
  status: undefined,
  sessionId: undefined,
  operation: undefined,
  sub: undefined,
  tool: undefined,
  toolErrors: undefined,
  version: undefined,
  since: undefined,
  until: undefined,
}

export interface RunPage extends RunFilters {
  limit: number
  /** True for the runs of all owners in the tenant. */
  anyOwner: boolean
  /** The last run of the page before. */
  before: RowPosition | undefined
}

export interface ListedRun extends RunKey {
  sessionId: string
  operation: Operation
  status: RunStatus
  /** Epoch milliseconds. */
  createdAt: number
  startedAt: number | undefined
  endedAt: number | undefined
  /** The start of the human message; undefined for runs of versions that did not store the text. */
  input: string | undefined
  tokens: number
  /** USD. */
  cost: number | undefined
  /** Failed tool calls. */
  toolErrors: number
  error: ErrorBody | undefined
  configVersion: string | undefined
}
