import { sql } from 'kysely'
import type { RunRow } from '../tables.ts'

/**
 * Leaves out direct tool executions, which are rows of `runs` because they share the caller's request ids with chats. Every query for the
 * runs of chats has this clause. The value is in the SQL text: only then is a partial index used.
 */
export const whereChat = sql<boolean>`runs.operation <> 'tool_execute'`

export const whereToolExecution = sql<boolean>`runs.operation = 'tool_execute'`

export function isChat({ operation }: Pick<RunRow, 'operation'>): boolean {
  return operation !== 'tool_execute'
}
