import { sql, type Kysely, type QueryCreator } from 'kysely'
import type { EndedRun } from '../../runs/run-store.ts'
import { listSteps, settlementColumns, stepsAtEnd, toSettlementsJson } from '../budgets/settle.ts'
import {
  type ColumnType,
  countOf,
  hourOf,
  endedRunColumns,
  endedRunValues,
  messageColumns,
  metricsColumns,
  metricsSums,
  metricsValues,
  toEndedRow,
  toMessageRow,
  toMetrics,
  toToolRow,
  toolColumns,
  type MessageColumns,
  type NewMetrics,
  type RunEnd,
} from '../rows.ts'
import { mapColumns, statement, type Param } from '../database.ts'
import type { Tables } from '../tables.ts'
import { definitionsOf, namesOf, recordset, type RowOf } from './chat-groups.ts'
import type { Ending } from './step-by-step.ts'
import { addedMetrics, insertFrom, messageValues, renewTool, whereRun, whereSession, type AnsweredSession } from './statements.ts'

/** The end of a simple chat on Postgres: one statement for a single chat, and one for a group. See `postgres-chat.ts`. */

type Answer = NonNullable<EndedRun['message']>
type EndValues = AnsweredSession & RunEnd & NewMetrics & MessageColumns & { dropsSteps: boolean; tools: string; settlements: string }

export function toEndValues({ key, fence, ended, hourRow }: Ending, message: Answer): EndValues {
  return {
    ...key,
    ...ended,
    ...toEndedRow(ended),
    ...toMetrics(key.tenant, ended, hourRow),
    ...toMessageRow(message),
    fence,
    now: ended.endedAt,
    dropsSteps: ended.hadCheckpoints && !ended.continuable,
    tools: toToolsJson(ended),
    settlements: toSettlementsJson(ended.settlements ?? []),
  }
}

function toToolsJson({ tools, endedAt }: EndedRun): string {
  return JSON.stringify(tools.map((use) => toToolRow(use, endedAt)))
}

/**
 * Ends a run with an answer when the session queue is empty. A statement sees the rows of its start, even after waiting for a lock, so
 * the session changes only when its `xmin` is unchanged. Every join of the queue and every move of a run updates the session.
 */
export function endStatement(database: Kysely<Tables>, { settles } = { settles: false }) {
  return statement(database, (db, param: Param<EndValues>) => {
    const ended = db
      .with(
        (cte) => cte('seen').materialized(),
        (ctes) =>
          ctes
            .selectFrom('sessions')
            .select(sql`xmin`.as('version'))
            .where(whereSession(param)),
      )
      .with('session', (ctes) =>
        ctes
          .updateTable('sessions')
          .from('seen')
          .set({
            message_count: param('messageCount'),
            checkpoint_id: param('checkpointId'),
            updated_at: param('now'),
            active_run: null,
          })
          .where(whereSession(param))
          .where('active_run', '=', param('requestId'))
          .where(sql<boolean>`sessions.xmin = seen.version`)
          // Otherwise the session has messages whose commit had no answer.
          .where('message_count', '=', sql<number>`${param('messageCount')} - 1`)
          // A literal status, because the partial index is not used with a parameter.
          .where(
            sql<boolean>`not exists (select from runs where tenant = ${param('tenant')} and session = ${param('session')} and status = 'pending')`,
          )
          .returning('key'),
      )
      .with('run', (ctes) =>
        ctes
          .updateTable('runs')
          .from('session')
          // A run with notifications or messages, or taken over by another process, would get a null status: the constraint of the column fails the whole statement.
          .set({
            ...endedRunValues(param),
            // A resumed run still has the error of its first end.
            error: null,
            status: sql<string>`case when fence = ${param('fence')} and status = 'running' and has_notifications is null and open_messages is null then ${param('status')} end`,
          })
          .where((is) => is.and(whereRun(param)))
          .returning(['request_id as ended', 'created_at', 'sub', 'config_version']),
      )
      .with('message', (ctes) => {
        const last = sql`${param('messageCount')} - 1`
        return insertFrom(ctes, 'messages', { ...messageValues(param), session: param('session'), idx: last }, sql`from run`)
      })
      .with('steps', (ctes) =>
        ctes
          .deleteFrom('run_steps')
          .using('run')
          .where((is) => is.and(whereRun(param)))
          .where(sql<boolean>`${param('dropsSteps')}`),
      )
      .with('tools', (ctes) => {
        const used = mapColumns(toolColumns, (name) => sql.ref(`used.${name}`))
        const stored = { sub: sql`run.sub`, config_version: sql`run.config_version`, created_at: sql`run.created_at` }
        const row = { ...whereRun(param), ...used, ...stored }
        const columns = sql.raw(definitionsOf(toolColumns))
        const rows = sql`from run, json_to_recordset(cast(${param('tools')} as json)) as used (${columns})`
        return insertFrom(ctes, 'run_tools', row, rows).onConflict(renewTool)
      })
      // Last, because all runs of a tenant lock this row at their end.
      .with('sums', (ctes) =>
        insertFrom(ctes, 'metrics', metricsValues(param), sql`from run`)
          .onConflict((conflict) => conflict.columns(['tenant', 'hour']).doUpdateSet(addedMetrics))
          .returning('hour'),
      )
    const settled = settles ? withSettlements(ended, param) : ended
    return settled.selectFrom('run').selectAll()
  })
}

/** Settles what the calls of the run did cost, when all other rows are locked. */
function withSettlements<T>(ended: QueryCreator<T>, param: Param<EndValues>): QueryCreator<T> {
  const rows = sql`json_to_recordset(cast(${param('settlements')} as json)) as settlement (${sql.raw(settlementColumns)})`
  const given = sql<object>`(select cast(${param('tenant')} as text) as tenant, settlement.* from run, ${rows})`
  const { closed, settled, locked, windows } = stepsAtEnd('', areCounted)
  const step = (text: string) => sql.raw<object>(`(${text})`)
  const closing = ended.with('given', given).with('closed', step(closed)).with('settled', step(settled))
  return closing.with('locked', step(locked)).with('windows', step(windows)) as never
}

const columns = {
  ...endedRunColumns,
  ...metricsColumns,
  ...messageColumns,
  owner: 'text',
  request_id: 'text',
  session: 'text',
  fence: 'integer',
  hour: 'bigint',
  message_count: 'integer',
  checkpoint_id: 'text',
  drops_steps: 'boolean',
  tools: 'text',
} as const

export function toEndRow({ key, fence, ended }: Ending, message: Answer): RowOf<typeof columns> & { settlements?: string } {
  return {
    ...toEndedRow(ended),
    ...countOf(ended.status),
    ...toMessageRow(message),
    // The statement adds the number of the row of the hour.
    hour: hourOf(ended.endedAt),
    owner: key.owner,
    request_id: key.requestId,
    session: ended.session,
    fence,
    message_count: ended.messageCount,
    checkpoint_id: ended.checkpointId,
    drops_steps: ended.hadCheckpoints && !ended.continuable,
    tools: ended.tools.length > 0 ? toToolsJson(ended) : null,
    ...(ended.settlements && { settlements: toSettlementsJson(ended.settlements) }),
  }
}

/** True when the rows of metrics are locked. */
const areCounted = '(select count(*) from sums) >= 0'

const settings = Object.keys(endedRunColumns).map((name) => `${name} = held.${name}`)
const sums = Object.keys(metricsColumns)
const added = Object.entries(metricsSums).map(([name, sum]) => `${name} = ${sum}`)

/**
 * Ends runs with an answer whose session queue is empty: $1 is the tenant, $2 the JSON array of rows, $3 the number of the row of the hour. Leaves
 * out a run that another process has taken over, one with notifications or messages, and one whose session or run is locked. A statement sees the rows of
 * its start, even after a lock, so a session counts only when its `xmin` is unchanged: every join of the queue and every move of a run updates
 * the session.
 *
 * A group may wait for rows of metrics only. All of its other rows are locked by then, and groups lock the rows of metrics in one order. The
 * lookups are written as in `beginGroup`; the status is compared in a form that cannot use the index of unended runs.
 */
export const endGroup = endGroupOf(columns)

/** Also settles what the calls of the runs did cost. */
export const endGroupWithSettlements = endGroupOf(
  { ...columns, settlements: 'text' },
  listSteps(
    stepsAtEnd(
      `select held.tenant, given.* from held cross join lateral json_to_recordset(cast(held.settlements as json)) as given (${settlementColumns})`,
      areCounted,
    ),
  ),
)

function endGroupOf(of: Readonly<Record<string, ColumnType>>, steps = ''): string {
  return `
with input as materialized (
  select cast($1 as text) as tenant, chat.* from ${recordset(of)}
), seen as materialized (
  select input.n, found.version from input cross join lateral (
    select xmin as version from sessions where sessions.key = input.session and sessions.tenant = input.tenant offset 0) as found
), held as materialized (
  select input.*, found.begun_at, found.sub
  from input join seen using (n) cross join lateral (
    select runs.created_at as begun_at, runs.sub
    from sessions, runs
    where sessions.key = input.session and sessions.tenant = input.tenant
      and sessions.active_run = input.request_id and sessions.xmin = seen.version and sessions.message_count = input.message_count - 1
      and runs.tenant = input.tenant and runs.request_id = input.request_id and runs.owner = input.owner
      and runs.fence = input.fence and runs.status || '' = 'running' and runs.operation <> 'tool_execute' and runs.has_notifications is null
      and runs.open_messages is null
      and not exists (
        select from runs as waiting where waiting.tenant = input.tenant and waiting.session = input.session and waiting.status = 'pending' offset 0)
    for update of sessions, runs skip locked) as found
), session as (
  update sessions set message_count = held.message_count, checkpoint_id = held.checkpoint_id, updated_at = held.ended_at, active_run = null
  from held where sessions.key = held.session and sessions.tenant = held.tenant
), run as (
  -- A resumed run still has the error of its first end.
  update runs set ${settings.join(', ')}, error = null
  from held where runs.tenant = held.tenant and runs.request_id = held.request_id and runs.owner = held.owner
), message as (
  insert into messages (tenant, session, idx, role, content, created_at, data)
  select tenant, session, message_count - 1, role, content, message_at, data from held
), steps as (
  delete from run_steps using held
  where held.drops_steps and run_steps.tenant = held.tenant and run_steps.owner = held.owner and run_steps.request_id = held.request_id
), tools as (
  insert into run_tools (tenant, owner, request_id, tool, sub, config_version, created_at, ended_at, calls, errors, durations)
  select held.tenant, held.owner, held.request_id, used.tool, held.sub, held.config_version, held.begun_at, used.ended_at, used.calls, used.errors, used.durations
  from held cross join lateral json_to_recordset(cast(held.tools as json))
    as used (${definitionsOf(toolColumns)})
  on conflict (tenant, owner, request_id, tool) do update set config_version = excluded.config_version, ended_at = excluded.ended_at,
    calls = excluded.calls, errors = excluded.errors, durations = excluded.durations
), sums as (
  insert into metrics (tenant, hour, ${namesOf(metricsColumns)}, min_latency_ms, max_latency_ms)
  select $1, counted_hour, ${sums.map((name) => `sum(${name})`).join(', ')}, min(latency_ms), max(latency_ms)
  from (select held.*, held.hour + case when held.continuable = 1 then 0 else cast($3 as integer) end as counted_hour from held) as of_group
  group by counted_hour order by counted_hour
  on conflict (tenant, hour) do update set ${added.join(', ')}
  returning hour
)${steps && `, ${steps}`}
select n from held`
}
