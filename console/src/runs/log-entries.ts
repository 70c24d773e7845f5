/** An ended run, as the service logs the run. */
export interface LogEntry {
  name: string
  /** The request id. */
  id: string
  model: string | null
  error: string | null
  status: string
  /** Seconds. */
  latency: number
  /** Epoch milliseconds. */
  end_time: number
  completion_tokens: number
  total_tokens: number
}

/** Parses the list, which the interface sends as JSON text. */
export function parseEntries(data: string): LogEntry[] {
  const entries: unknown = JSON.parse(data)
  return Array.isArray(entries) ? (entries as LogEntry[]) : []
}
