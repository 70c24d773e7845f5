import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import type { RunKey } from '../../../runs/run.ts'
import { endRun, findReadable, noRun, ownRunKey } from '../../named-runs.ts'
import { followRun, type Exchange } from '../../reader.ts'
import { Id, maxListed, maybe, object } from '../../schemas/shared.ts'
import { lastEventHeader, type LastReceived, lastReceivedOf, nothingReceived } from '../../send-run.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { findThread, isOfThread, threadIdOf } from './branches.ts'
import { doorRoute, isGiven, notOffered, prefix } from './errors.ts'
import { modesOf, runParams, threadParams } from './input.ts'
import { nameRun, type RunServices, type ThreadRun } from './open-run.ts'
import { sendThreadRun, streamReply, valuesOf, ValuesReply } from './runs.ts'
import { RunReply, toRun } from './state.ts'

/** The runs of a thread. */
export const listedRunRoutes = [listRoutes, joinRoutes, cancelRoutes] as const

const RunsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
  offset: Type.Integer({ minimum: 0, maximum: 900, default: 0 }),
  status: Type.Optional(Type.Enum(['pending', 'running', 'interrupted', 'success', 'error', 'timeout'])),
})

const url = `${prefix}/threads/:thread_id/runs`
const unknown = '404: the caller has no such run in the thread.'

function listRoutes(app: App, services: RunServices): void {
  app.get(
    url,
    doorRoute(
      { access: accessTo.readRun },
      {
        summary: 'List the runs of a thread, newest first',
        text: '404: the caller has no such thread.',
        params: threadParams,
        querystring: RunsQuery,
        response: { 200: Type.Array(RunReply) },
      },
    ),
    async (request) => {
      const { limit, offset, status } = request.query
      const principal = principalOf(request)
      const { threadId, sessions } = await findThread(services, principal, request.params.thread_id)
      const page = { limit: offset + limit, status }
      const lists = await Promise.all(sessions.map(({ sessionId }) => services.sessionRuns.list(principal, sessionId, page)))
      const runs = lists.flat().toSorted((a, b) => b.createdAt - a.createdAt)
      return runs.slice(offset, offset + limit).map((run) => toRun(threadId, run))
    },
  )

  app.get(
    `${url}/:run_id`,
    doorRoute(
      { access: accessTo.readRun },
      { summary: 'Get a run of a thread', text: unknown, params: runParams, response: { 200: RunReply } },
    ),
    async (request) => toRun(request.params.thread_id, await findRun(services, request, request.params)),
  )
}

/** The caller's own run, in the thread if one is named. Throws `not_found` also for a run of another thread. */
async function findRun(
  { runStore }: Pick<RunServices, 'runStore'>,
  request: FastifyRequest,
  { thread_id: threadId, run_id: runId }: { thread_id?: string; run_id: string },
): Promise<StoredRun> {
  const key = ownRunKey(principalOf(request), runId)
  const run = await findReadable(runStore, key)
  if (threadId !== undefined && !isOfThread(run.sessionId, threadId)) throw noRun(key)
  return run
}

/** The modes of a client that joins a run without naming modes: what `useStream` reads. */
const joinModes = ['values', 'messages-tuple']

const JoinQuery = Type.Object({
  stream_mode: Type.Optional(
    Type.Unknown({ description: 'The modes: `values`, `updates`, `messages`, `messages-tuple` or `custom`, several times if wanted.' }),
  ),
})

function joinRoutes(app: App, services: RunServices): void {
  const follow = async (exchange: Exchange, params: { thread_id?: string; run_id: string }, received: LastReceived): Promise<ThreadRun> => {
    const { requestId, sessionId, tenant, owner } = await findRun(services, exchange.request, params)
    const threadId = params.thread_id ?? threadIdOf(sessionId)
    nameRun(exchange.reply, threadId, requestId)
    return { chat: followRun(services, exchange, { tenant, owner, requestId }), threadId, requestId, received }
  }
  const streamed = async (exchange: Exchange, params: { thread_id?: string; run_id: string }, sent: unknown) => {
    const modes = modesOf(sent ?? joinModes, ['query', 'stream_mode'])
    // `-1` is the word of clients for the start.
    const isWhole = exchange.request.headers['last-event-id'] === '-1'
    const received = isWhole ? nothingReceived : lastReceivedOf(exchange.request, params.run_id)
    return sendThreadRun(services, exchange.reply, await follow(exchange, params, received), modes)
  }
  const exposeHeadRoute = false
  const headers = Type.Object(lastEventHeader)
  const text = `The run from its start, or behind the event that \`last-event-id\` names, then live until its end. Without modes: \`values\` and \`messages-tuple\`. ${unknown}`

  app.get(
    `${url}/:run_id/join`,
    {
      ...doorRoute(
        { access: accessTo.readRun },
        {
          summary: 'Wait for a run of a thread',
          text: unknown,
          params: runParams,
          response: { 200: ValuesReply },
        },
      ),
      exposeHeadRoute,
    },
    async (request, reply) => valuesOf(services, await follow({ request, reply }, request.params, nothingReceived), principalOf(request)),
  )
  app.get(
    `${url}/:run_id/stream`,
    {
      ...doorRoute(
        { access: accessTo.readRun },
        {
          summary: 'Stream a run of a thread',
          text,
          params: runParams,
          querystring: JoinQuery,
          headers,
          response: streamReply,
        },
      ),
      exposeHeadRoute,
    },
    async (request, reply) => streamed({ request, reply }, request.params, request.query.stream_mode),
  )
  app.get(
    `${prefix}/runs/:run_id/stream`,
    {
      ...doorRoute(
        { access: accessTo.readRun },
        {
          summary: 'Stream a run whose thread is not named',
          text,
          params: Type.Object({ run_id: Id }),
          querystring: JoinQuery,
          headers,
          response: streamReply,
        },
      ),
      exposeHeadRoute,
    },
    async (request, reply) => streamed({ request, reply }, request.params, request.query.stream_mode),
  )
}

const action = { action: Type.Optional(Type.Enum(['interrupt', 'rollback'], { description: '`rollback` is not offered.' })) }

const Cancelled = object('Runs of a thread: those that are named, or those in a state.', {
  thread_id: maybe(Id),
  run_ids: maybe(Type.Array(Id, { maxItems: 100 })),
  status: maybe(Type.Enum(['pending', 'running', 'all'])),
})

const cancelled = { 204: Type.Null({ description: 'Cancelled.' }) }

function refuseRollback(sent: string | undefined): void {
  if (sent === 'rollback') throw notOffered(['query', 'action'], '`interrupt` ends the run and keeps its question')
}

function cancelRoutes(app: App, services: RunServices): void {
  app.post(
    `${url}/:run_id/cancel`,
    doorRoute(
      { access: accessTo.cancelRun },
      {
        summary: 'Cancel a run of a thread',
        text: `Cancels at once, and answers when the end is stored. 409 for a run that has ended. ${unknown}`,
        params: runParams,
        querystring: Type.Object(action),
        response: cancelled,
      },
    ),
    async (request, reply) => {
      refuseRollback(request.query.action)
      await services.runs.cancel(await findRun(services, request, request.params))
      return reply.code(204).send()
    },
  )

  app.post(
    `${prefix}/runs/cancel`,
    doorRoute(
      { access: accessTo.cancelRun },
      {
        summary: 'Cancel runs of a thread',
        text: 'Cancels the named runs, or all runs of the thread that have not ended, with `status` only those in this state. Runs that have ended stay as they are. 404: the caller has no such thread, or no such run in it.',
        examples: { all: { summary: 'All runs of a thread', value: { thread_id: '0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11', status: 'all' } } },
        querystring: Type.Object(action),
        body: Cancelled,
        response: cancelled,
      },
    ),
    async (request, reply) => {
      refuseRollback(request.query.action)
      for (const run of await findCancelled(services, request, request.body)) await endRun(services.runs, run)
      return reply.code(204).send()
    },
  )
}

/** The named runs of a thread that have not ended, or all of them. */
async function findCancelled(
  services: RunServices,
  request: FastifyRequest,
  { thread_id: threadId, run_ids: ids, status }: Type.Static<typeof Cancelled>,
): Promise<RunKey[]> {
  if (!isGiven(threadId)) throw notOffered(['body', 'thread_id'], 'name the thread: runs are cancelled thread by thread')
  const principal = principalOf(request)
  const { sessions } = await findThread(services, principal, threadId!)
  if (isGiven(ids)) {
    const runs = await Promise.all(ids!.map((id) => findRun(services, request, { thread_id: threadId!, run_id: id })))
    return runs.filter(({ endedAt }) => endedAt === undefined)
  }
  const states = status === 'pending' || status === 'running' ? ([status] as const) : (['pending', 'running', 'interrupted'] as const)
  const list = (sessionId: string, state: (typeof states)[number]) =>
    services.sessionRuns.list(principal, sessionId, { limit: maxListed, status: state })
  return (await Promise.all(sessions.flatMap(({ sessionId }) => states.map((state) => list(sessionId, state))))).flat()
}
