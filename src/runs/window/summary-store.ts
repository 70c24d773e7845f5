import type { HistoryMessage, RunningSummary } from '../run-store.ts'

/** Port: sessions whose windows move. */
export interface SummaryStore {
  /** Where the window begins and what is known of the turns before it; undefined when the session is gone. */
  window(tenant: string, session: string): Promise<{ start: number; summary: RunningSummary | undefined } | undefined>
  /** Messages from `from` on, `limit` of them at most. */
  history(tenant: string, session: string, from: number, limit: number): Promise<HistoryMessage[]>
  /** Moves the window from where it was seen, together with the summary of what leaves it; false when it was moved meanwhile. */
  moveWindow(tenant: string, session: string, move: WindowMove): Promise<boolean>
}

export interface WindowMove {
  from: number
  to: number
  summary: RunningSummary
}
