import type { RunSummary } from './queries.ts'

/** What a caller asked for, by the operation of the interface. */
export const operationLabels: Record<RunSummary['operation'], string> = {
  chain: 'JSON',
  chain_streaming: 'Stream',
  chain_async: 'Async',
}

export const statuses: readonly RunSummary['status'][] = ['pending', 'running', 'interrupted', 'success', 'error', 'cancelled', 'timeout']
