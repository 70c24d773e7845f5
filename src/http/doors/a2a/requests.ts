import { randomUUIDv7 } from 'node:crypto'
import type { Message, SendMessageRequest, Task } from '@a2a-js/sdk'
import { RequestMalformedError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { FastifyRequest } from 'fastify'
import { accessTo, permits, requireAccess } from '../../../access/permissions.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import type { NewChat } from '../../../runs/new-chat.ts'
import type { Runs } from '../../../runs/runs.ts'
import { fromCompact } from '../../../runs/log/compact-log.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { type Operation, type RunKey, isReadable } from '../../../runs/run.ts'
import type { RunStore, StoredRun, NotificationConfig } from '../../../runs/run-store.ts'
import { toNewChat } from '../core/chat-request.ts'
import { isId } from '../../server/request-headers.ts'
import { contextOf, type Caller } from '../protocol-caller.ts'
import { chatOptionsOf, toQuestion } from './message.ts'
import { legacyVersion, toCard, toExtendedCard, versionOf, type CardOptions } from './card.ts'
import { createPushMethods, maxConfigs, toConfig, type PushServices } from './push-configs.ts'
import { applyDecisions } from './decisions.ts'
import { follow, subscribe, type ToArtifacts } from './projection.ts'
import { readTask, toFileArtifacts, checkHistoryLength, listTasks } from './tasks.ts'
import type { Fault } from '../../../errors.ts'
import { fieldsOf } from '../../../json/shape.ts'
import type { RecentRun, RecentRunStore } from '../../../runs/run-list.ts'
import type { SubAgents } from '../../../sub-agents/sub-agents.ts'
import { openRun, waitForEnd } from '../../reader.ts'

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

/** An open run. The caller has received the events up to number `after`. */
interface OpenTask {
  run: OpenRun
  after?: number
}

/**
 * Implements the A2A methods for one caller. A task is a run with the request id as task id; a context is a session. No other state is stored, so
 * tasks survive a restart and exist on every replica. A disconnect does not end a task, `CancelTask` does. Each method needs the permissions of the
 * REST route for the same operation. `at`: the path of the message in the request, for faults.
 */
export function createRequestHandler(
  { agent, artifacts, runs, runStore, approvals, openCalls, recentRuns, subAgents, notifications, refusalOf, ...card }: A2aServices,
  caller: Caller,
  at: Fault['loc'],
): A2ARequestHandler {
  const { principal } = caller
  const { tenant, owner } = principal
  const links = permits(principal, accessTo.linkArtifact) ? artifacts : undefined
  const isLegacy = versionOf(caller.request) === legacyVersion
  const keyOf = (requestId: string) => ({ tenant, owner, requestId })

  const followFor = (key: RunKey) => openRun(caller, (disconnected) => runs.follow(key, disconnected))

  async function find(id: string): Promise<StoredRun> {
    const run = isId(id) ? await runStore.find(keyOf(id)) : undefined
    if (!run || !isReadable(run)) throw new TaskNotFoundError(`There is no task ${id}.`)
    return run
  }

  async function answerTask(id: string, historyLength: number | undefined): Promise<Task> {
    checkHistoryLength(historyLength)
    return withHistory(await taskOf(await find(id)), historyLength)
  }

  async function taskOf(run: StoredRun): Promise<Task> {
    return readTask(run, { links, openCalls })
  }

  async function open(request: SendMessageRequest, operation: Operation): Promise<OpenTask> {
    const { message, configuration } = request
    if (!message || message.messageId === '') throw new RequestMalformedError('message.messageId is required.')
    const { contextId, taskId } = message
    if (contextId !== '' && !isId(contextId)) throw new RequestMalformedError('message.contextId is not a valid id.')
    const push = configuration?.taskPushNotificationConfig
    const config = push && (await toConfig(push, { principal, refusalOf, isLegacy }))
    if (taskId !== '') return decide(message, config)
    const chat = await toChat(request, message, operation)
    const open = (disconnected: AbortSignal) => runs.open(principal, config ? { ...chat, notifications: [config] } : chat, disconnected)
    // The library keeps these objects until the answer.
    for (const holder of [message, request, paramsOf(caller.request)]) Object.assign(holder, noContent)
    // Without `await`, which would keep the chat in memory as long.
    return openRun(caller, open).then((run) => ({ run }))
  }

  async function toChat(request: SendMessageRequest, message: Message, operation: Operation): Promise<NewChat> {
    const metadata = { ...request.metadata, ...message.metadata }
    const { body: question, sentFiles } = await toQuestion(message, principal, agent().model)
    const session = message.contextId === '' ? {} : { session_id: message.contextId }
    const body = { ...chatOptionsOf(metadata), ...question, ...session, on_disconnect: 'continue' as const }
    const maxCharacters = agent().config.limits.max_input_characters
    const chat = toNewChat(caller.request, operation, maxCharacters, { body, at, sentFiles })
    const headers = contextOf(caller.request, metadata, 'metadata')
    return { ...chat, newSessionId: randomUUIDv7(), request: { ...chat.request, headers } }
  }

  /** A message to an interrupted task decides its pending calls. The task resumes after the last decision. */
  async function decide(message: Message, config: NotificationConfig | undefined): Promise<OpenTask> {
    const run = await find(message.taskId)
    if (message.contextId !== '' && message.contextId !== run.sessionId)
      throw new RequestMalformedError('message.contextId must be the context of the task.')
    if (run.status !== 'interrupted')
      throw new UnsupportedOperationError('The task does not wait for a message: send the message without taskId, in the same contextId.')
    const prepare = async () => {
      if (config) await notifications.add(run, config, { max: maxConfigs, now: Date.now() })
    }
    await applyDecisions(message, { principal, run, open: await openCalls.openOf(run), approvals, prepare })
    return { run: await followFor(run), after: run.log?.events ? fromCompact(run.log.events).length : 0 }
  }

  const following = (requestId: string) => ({
    toArtifacts: async (files: Parameters<ToArtifacts>[0]) =>
      files.length === 0 ? [] : toFileArtifacts(await find(requestId), files, links),
    openCalls: () => openCalls.openOf(keyOf(requestId)),
    disconnected: caller.disconnected,
  })

  return {
    getAgentCard: async () => toCard(agent(), card),
    async sendMessage(request) {
      const { run } = await open(request, 'chain')
      if (request.configuration?.returnImmediately !== true) {
        await waitForEnd(run, caller.disconnected)
      }
      return answerTask(run.requestId, request.configuration?.historyLength)
    },
    async *sendMessageStream(request) {
      const { run, after } = await open(request, 'chain_streaming')
      yield* follow(run, following(run.requestId), after)
    },
    async getTask({ id, historyLength }) {
      requireAccess(principal, accessTo.readRun)
      return answerTask(id, historyLength)
    },
    async listTasks(request) {
      requireAccess(principal, accessTo.readRun)
      const toListedTask = async ({ run }: RecentRun) => withHistory(await taskOf(run), request.historyLength)
      return listTasks(principal, request, { recentRuns, toTask: toListedTask })
    },
    async cancelTask({ id }) {
      requireAccess(principal, accessTo.cancelRun)
      await find(id)
      await runs.cancel(keyOf(id))
      const cancelled = await answerTask(id, undefined)
      return permits(principal, accessTo.readRun) ? cancelled : { ...cancelled, history: [], artifacts: [] }
    },
    async *resubscribe({ id }) {
      requireAccess(principal, accessTo.readRun)
      const run = await find(id)
      if (run.endedAt !== undefined) throw new UnsupportedOperationError(`Task ${id} has ended.`)
      yield* subscribe({ ...following(id), task: await taskOf(run), open: () => followFor(keyOf(id)) })
    },
    getAuthenticatedExtendedAgentCard: () => toExtendedCard(agent(), { ...card, principal, subAgents }),
    ...createPushMethods({ notifications, refusalOf, principal, isLegacy, find }),
  }
}

const noContent = { message: undefined, parts: [], metadata: undefined }

/** The object with the message in the body of either binding. */
function paramsOf({ body }: FastifyRequest): Record<string, unknown> {
  return fieldsOf(fieldsOf(body)['params'] ?? body)
}

/** A task has one message of its history: the question. */
function withHistory(task: Task, historyLength: number | undefined): Task {
  return historyLength === 0 ? { ...task, history: [] } : task
}
