import type { Message, SendMessageRequest } from '@a2a-js/sdk'
import { RequestMalformedError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import type { FastifyRequest } from 'fastify'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { Fault } from '../../../errors.ts'
import { fieldsOf } from '../../../json/shape.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { answerCalls } from '../../../runs/parts.ts'
import type { RecentRunStore } from '../../../runs/run-list.ts'
import type { NotificationConfig, RunStore, StoredRun } from '../../../runs/run-store.ts'
import { isReadable, type LoggedEvent, type Operation, type RunKey } from '../../../runs/run.ts'
import type { Runs } from '../../../runs/runs.ts'
import type { SubAgents } from '../../../sub-agents/sub-agents.ts'
import { openRun } from '../../reader.ts'
import { isId } from '../../server/request-headers.ts'
import type { Caller } from '../protocols.ts'
import type { CardOptions } from './card.ts'
import { toDecisions } from './decisions.ts'
import { toChat } from './message.ts'
import { maxConfigs, toConfig, type PushServices } from './push-configs.ts'
import type { FileLinks } from './tasks.ts'

/** The runs behind tasks: a task is a run with the request id as task id, and a context is a session. */

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
export interface A2aCall {
  services: A2aServices
  caller: Caller
  /** The path of the message in the request, for faults. */
  at: Fault['loc']
  links: FileLinks
  isLegacy: boolean
}

export function keyOf({ caller: { principal } }: A2aCall, requestId: string): RunKey {
  return { tenant: principal.tenant, owner: principal.owner, requestId }
}

export async function findTask(call: A2aCall, id: string): Promise<StoredRun> {
  const run = isId(id) ? await call.services.runStore.find(keyOf(call, id)) : undefined
  if (!run || !isReadable(run)) throw new TaskNotFoundError(`There is no task ${id}.`)
  return run
}

export function followTask({ services, caller }: A2aCall, { tenant, owner, requestId }: RunKey): Promise<OpenRun> {
  return openRun(caller, (disconnected) => services.runs.follow({ tenant, owner, requestId }, disconnected))
}

/** An open run, and its events that the caller has received. */
interface OpenTask {
  run: OpenRun
  received?: readonly LoggedEvent[]
}

/** Opens the task of a message: a new run, or the run that waits for the message. */
export async function openTask(call: A2aCall, request: SendMessageRequest, operation: Operation): Promise<OpenTask> {
  const { services, caller, isLegacy } = call
  const { principal } = caller
  const { message, configuration } = request
  if (!message || message.messageId === '') throw new RequestMalformedError('message.messageId is required.')
  const { contextId, taskId } = message
  if (contextId !== '' && !isId(contextId)) throw new RequestMalformedError('message.contextId is not a valid id.')
  const push = configuration?.taskPushNotificationConfig
  const config = push && (await toConfig(push, { principal, refusalOf: services.refusalOf, isLegacy }))
  if (taskId !== '') return decide(call, message, config)
  const chat = await toChat(services.agent, call, { message, metadata: request.metadata }, operation)
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

/** A message to an interrupted task decides its pending calls. The task resumes after the last decision. */
async function decide(call: A2aCall, message: Message, config: NotificationConfig | undefined): Promise<OpenTask> {
  const { services, caller } = call
  const { principal } = caller
  const run = await findTask(call, message.taskId)
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
  return { run: await followTask(call, run), received: before }
}
