import type { RunSummary } from './queries.ts'

/** Label of a run by the operation of the interface. */
export const operationLabels: Record<RunSummary['operation'], string> = {
  chain: 'JSON',
  chain_streaming: 'Stream',
  chain_async: 'Async',
  schedule: 'Schedule',
}

/** The choice of the filter by status that selects runs with failed calls of tools. */
export const withToolErrors = 'tool_errors'

export const statuses: readonly RunSummary['status'][] = ['pending', 'running', 'interrupted', 'success', 'error', 'cancelled', 'timeout']
