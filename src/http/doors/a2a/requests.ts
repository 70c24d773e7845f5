import { randomUUIDv7 } from 'node:crypto'
import type { Message, SendMessageRequest, Task } from '@a2a-js/sdk'
import { RequestMalformedError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { FastifyRequest } from 'fastify'
import { accessTo, permits, requireAccess } from '../../../access/permissions.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { Fault } from '../../../errors.ts'
import { fieldsOf } from '../../../json/shape.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import type { NewChat } from '../../../runs/new-chat.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { answerCalls } from '../../../runs/parts.ts'
import type { RecentRun, RecentRunStore } from '../../../runs/run-list.ts'
import type { NotificationConfig, RunStore, StoredRun } from '../../../runs/run-store.ts'
import { isReadable, type LoggedEvent, type Operation, type RunKey } from '../../../runs/run.ts'
import type { Runs } from '../../../runs/runs.ts'
import type { SubAgents } from '../../../sub-agents/sub-agents.ts'
import { openRun, waitForEnd } from '../../reader.ts'
import { isId } from '../../server/request-headers.ts'
import { toNewChat } from '../core/chat-request.ts'
import { contextOf, type Caller } from '../protocols.ts'
import { legacyVersion, toCard, toExtendedCard, versionOf, type CardOptions } from './card.ts'
import { toDecisions } from './decisions.ts'
import { chatOptionsOf, toQuestion } from './message.ts'
import { follow, subscribe } from './projection.ts'
import { createPushMethods, maxConfigs, toConfig, type PushServices } from './push-configs.ts'
import { checkHistoryLength, filesOf, listTasks, readTask, withLinks, type FileLinks } from './tasks.ts'

export interface A2aServices extends CardOptions, PushServices {
  agent: CurrentAgent
  artifacts: Pick<Artifacts, 'toAnswerFiles'>
  runs: Runs
  runStore: Pick<RunStore, 'find'>
  approvals: Pick<Approvals, 'decide'>
  openCalls: Pick<ApprovalStore, 'openOf' | 'ofRun'>
  recentRuns: RecentRunStore
  subAgents: Pick<SubAgents, 'list'>
}

/** One request of a caller. */
interface A2aCall {
  services: A2aServices
  caller: Caller
  /** The path of the message in the request, for faults. */
  at: Fault['loc']
  links: FileLinks
  isLegacy: boolean
}

/**
 * Implements the A2A methods for one caller. A task is a run with the request id as task id; a context is a session. No other state is stored, so
 * tasks survive a restart and exist on every replica. A disconnect does not end a task, `CancelTask` does. Each method needs the permissions of the
 * REST route for the same operation. `at`: the path of the message in the request, for faults.
 */
export function createRequestHandler(services: A2aServices, caller: Caller, at: Fault['loc']): A2ARequestHandler {
  const { principal, request } = caller
  const links = permits(principal, accessTo.linkArtifact) ? services.artifacts : undefined
  const call = { services, caller, at, links, isLegacy: versionOf(request) === legacyVersion }
  return {
    getAgentCard: async () => toCard(services.agent(), services),
    getAuthenticatedExtendedAgentCard: () => toExtendedCard(services.agent(), { ...services, principal }),
    ...messageMethods(call),
    ...taskMethods(call),
    ...createPushMethods({ ...services, principal, isLegacy: call.isLegacy, find: (id) => find(call, id) }),
  }
}

function messageMethods(call: A2aCall): Pick<A2ARequestHandler, 'sendMessage' | 'sendMessageStream' | 'resubscribe'> {
  const { services, caller } = call
  const readerOf = (requestId: string) => ({
    async toFiles(events: readonly LoggedEvent[]) {
      const made = filesOf(events)
      return made.length === 0 ? [] : withLinks(await find(call, requestId), made, call.links)
    },
    openCalls: () => services.openCalls.openOf(keyOf(call, requestId)),
    disconnected: caller.disconnected,
  })
  return {
    async sendMessage(request) {
      const { run } = await open(call, request, 'chain')
      if (request.configuration?.returnImmediately !== true) await waitForEnd(run, caller.disconnected)
      return answerTask(call, run.requestId, request.configuration?.historyLength)
    },
    async *sendMessageStream(request) {
      const { run, received } = await open(call, request, 'chain_streaming')
      yield* follow(run, readerOf(run.requestId), received)
    },
    async *resubscribe({ id }) {
      requireAccess(caller.principal, accessTo.readRun)
      const run = await find(call, id)
      if (run.endedAt !== undefined) throw new UnsupportedOperationError(`Task ${id} has ended.`)
      const task = await taskOf(call, run)
      yield* subscribe({ ...readerOf(id), task, open: () => followFor(call, run) })
    },
  }
}

function taskMethods(call: A2aCall): Pick<A2ARequestHandler, 'getTask' | 'listTasks' | 'cancelTask'> {
  const { services, caller } = call
  const { principal } = caller
  return {
    async getTask({ id, historyLength }) {
      requireAccess(principal, accessTo.readRun)
      return answerTask(call, id, historyLength)
    },
    async listTasks(request) {
      requireAccess(principal, accessTo.readRun)
      const toTask = async ({ run }: RecentRun) => withHistory(await taskOf(call, run), request.historyLength)
      return listTasks(principal, request, { recentRuns: services.recentRuns, toTask })
    },
    async cancelTask({ id }) {
      requireAccess(principal, accessTo.cancelRun)
      await find(call, id)
      await services.runs.cancel(keyOf(call, id))
      const cancelled = await answerTask(call, id, undefined)
      return permits(principal, accessTo.readRun) ? cancelled : { ...cancelled, history: [], artifacts: [] }
    },
  }
}

function keyOf({ caller: { principal } }: A2aCall, requestId: string): RunKey {
  return { tenant: principal.tenant, owner: principal.owner, requestId }
}

async function find(call: A2aCall, id: string): Promise<StoredRun> {
  const run = isId(id) ? await call.services.runStore.find(keyOf(call, id)) : undefined
  if (!run || !isReadable(run)) throw new TaskNotFoundError(`There is no task ${id}.`)
  return run
}

function followFor({ services, caller }: A2aCall, { tenant, owner, requestId }: RunKey): Promise<OpenRun> {
  return openRun(caller, (disconnected) => services.runs.follow({ tenant, owner, requestId }, disconnected))
}

async function answerTask(call: A2aCall, id: string, historyLength: number | undefined): Promise<Task> {
  checkHistoryLength(historyLength)
  return withHistory(await taskOf(call, await find(call, id)), historyLength)
}

function taskOf({ services: { openCalls }, links }: A2aCall, run: StoredRun): Promise<Task> {
  return readTask(run, { links, openCalls })
}

/** A task has one message of its history: the question. */
function withHistory(task: Task, historyLength: number | undefined): Task {
  return historyLength === 0 ? { ...task, history: [] } : task
}

/** An open run, and its events that the caller has received. */
interface OpenTask {
  run: OpenRun
  received?: readonly LoggedEvent[]
}

async function open(call: A2aCall, request: SendMessageRequest, operation: Operation): Promise<OpenTask> {
  const { services, caller, isLegacy } = call
  const { principal } = caller
  const { message, configuration } = request
  if (!message || message.messageId === '') throw new RequestMalformedError('message.messageId is required.')
  const { contextId, taskId } = message
  if (contextId !== '' && !isId(contextId)) throw new RequestMalformedError('message.contextId is not a valid id.')
  const push = configuration?.taskPushNotificationConfig
  const config = push && (await toConfig(push, { principal, refusalOf: services.refusalOf, isLegacy }))
  if (taskId !== '') return decide(call, message, config)
  const chat = await toChat(call, request, message, operation)
  const openChat = (disconnected: AbortSignal) =>
    services.runs.open(principal, config ? { ...chat, notifications: [config] } : chat, disconnected)
  // The library keeps these objects until the answer.
  for (const holder of [message, request, paramsOf(caller.request)]) Object.assign(holder, noContent)
  // Without `await`, which would keep the chat in memory as long.
  return openRun(caller, openChat).then((run) => ({ run }))
}

const noContent = { message: undefined, parts: [], metadata: undefined }

/** The object with the message in the body of either binding. */
function paramsOf({ body }: FastifyRequest): Record<string, unknown> {
  return fieldsOf(fieldsOf(body)['params'] ?? body)
}

async function toChat(
  { services, caller, at }: A2aCall,
  request: SendMessageRequest,
  message: Message,
  operation: Operation,
): Promise<NewChat> {
  const metadata = { ...request.metadata, ...message.metadata }
  const { body: question, sentFiles } = await toQuestion(message, caller.principal, services.agent().model)
  const session = message.contextId === '' ? {} : { session_id: message.contextId }
  const body = { ...chatOptionsOf(metadata), ...question, ...session, on_disconnect: 'continue' as const }
  const chat = toNewChat(services.agent, caller.request, operation, { body, at, sentFiles })
  const headers = contextOf(caller.request, metadata, 'metadata')
  return { ...chat, newSessionId: randomUUIDv7(), request: { ...chat.request, headers } }
}

/** A message to an interrupted task decides its pending calls. The task resumes after the last decision. */
async function decide(call: A2aCall, message: Message, config: NotificationConfig | undefined): Promise<OpenTask> {
  const { services, caller } = call
  const { principal } = caller
  const run = await find(call, message.taskId)
  if (message.contextId !== '' && message.contextId !== run.sessionId)
    throw new RequestMalformedError('message.contextId must be the context of the task.')
  if (run.status !== 'interrupted')
    throw new UnsupportedOperationError('The task does not wait for a message: send the message without taskId, in the same contextId.')
  const prepare = async () => {
    if (config) await services.notifications.add(run, config, { max: maxConfigs, now: Date.now() })
  }
  const { before } = await answerCalls(services, {
    principal,
    run,
    toDecisions: (calls) => toDecisions(message, calls, principal),
    prepare,
  })
  return { run: await followFor(call, run), received: before }
}
