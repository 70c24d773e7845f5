/** Port: the ended runs of one tenant, as series need them. Direct tool executions are not counted as runs. */
export interface SeriesStore {
  /**
   * Pages of ended runs, newest end first. With `key` as `tool`, a run appears once for each of its tools. A reader may stop at any page.
   */
  runs(tenant: string, span: SeriesSpan, key: SeriesKey): AsyncIterable<readonly SeriesRun[]>
  /** Pages of the tools of ended runs, newest end first. */
  toolUses(tenant: string, span: SeriesSpan): AsyncIterable<readonly ToolUseRecord[]>
}

/** Epoch milliseconds, `until` exclusive. */
export interface SeriesSpan {
  since: number
  until: number
}

/** The group of a run: none, a tool, the version of the configuration, or the `sub` of the caller. */
export type SeriesKey = 'none' | 'tool' | 'version' | 'sub'

export interface SeriesRun {
  endedAt: number
  status: string
  latencyMs: number
  tokens: number
  /** USD; undefined where no model of the run has a price. */
  cost: number | undefined
  /** Whether a tool call of the run has failed. */
  hasToolErrors: boolean
  /** Undefined without a group, and for runs of earlier versions of the service. */
  key: string | undefined
}

/** The calls of one tool in one run. */
export interface ToolUse {
  tool: string
  calls: number
  errors: number
  /** Of the first calls, at most `maxDurations`. */
  durationsMs: readonly number[]
}

export interface ToolUseRecord extends ToolUse {
  endedAt: number
}

/** Stored durations of a tool per run. */
export const maxDurations = 100
