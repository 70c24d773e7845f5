import type { HistoryMessage, RunningSummary } from '../run-store.ts'

/** Port: windows and summaries of sessions. */
export interface SummaryStore {
  /** Index of the window's first message, and the summary of the turns before the window; undefined when the session does not exist. */
  window(tenant: string, session: string): Promise<{ start: number; summary: RunningSummary | undefined } | undefined>
  /** At most `limit` messages, starting with index `firstIndex`. */
  history(tenant: string, session: string, firstIndex: number, limit: number): Promise<HistoryMessage[]>
  /** Moves the window and stores the new summary in one update; false when the window does not start at `move.start` any more. */
  moveWindow(tenant: string, session: string, move: WindowMove): Promise<boolean>
}

export interface WindowMove {
  /** Index of the window's first message before the move. */
  start: number
  /** Index of the window's first message after the move. */
  end: number
  /** Covers all messages before `end`. */
  summary: RunningSummary
}
