import { randomUUIDv7 } from 'node:crypto'
import {
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type InputRequiredResult,
} from '@modelcontextprotocol/server'
import { accessTo, permits, requireAccess } from '../../../access/permissions.ts'
import type { PendingCall } from '../../../agent/approval.ts'
import type { ProgressEvent } from '../../../agent/events.ts'
import { progressText } from '../../../agent/run-tool.ts'
import type { KeptFiles } from '../../../artifacts/answer-files.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { invalid } from '../../../errors.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import type { NewChat } from '../../../runs/new-chat.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { answerCalls } from '../../../runs/parts.ts'
import type { RunStore } from '../../../runs/run-store.ts'
import type { Operation } from '../../../runs/run.ts'
import type { Runs } from '../../../runs/runs.ts'
import { openRun, waitForEnd } from '../../reader.ts'
import { isId } from '../../server/request-headers.ts'
import { toNewChat } from '../core/open-chat.ts'
import { contextOf } from '../protocols.ts'
import { followRun, keyOf, readerOf, type McpCall } from './call.ts'
import { addressIn, decideByForms, decisionsIn, type FormAnswers, toDecision, toForm, toPage } from './forms.ts'
import { toAskResult, toProgress } from './projection.ts'
import { toPictures } from './results.ts'

export interface AskServices {
  artifacts: Pick<Artifacts, 'toAnswerFiles' | 'read'>
  runs: Runs
  agent: CurrentAgent
  approvals: Pick<Approvals, 'decide'>
  openCalls: Pick<ApprovalStore, 'openOf' | 'ofRun'>
  runStore: Pick<RunStore, 'find'>
  forms: FormAnswers
}

/** Runs a chat and returns its answer. Calls that wait for approval are put to the user of a client that shows forms. */
export async function ask(
  services: AskServices,
  call: McpCall,
  input: Record<string, unknown>,
): Promise<CallToolResult | InputRequiredResult> {
  const state = call.context.mcpReq.requestState()
  if (typeof state === 'string') return answer(services, call, await decideAgain(services, call, state))
  const { principal } = call.caller
  const chat = toChat(services, call, input, 'chain')
  const run = await openRun(readerOf(call), (disconnected) => services.runs.open(principal, chat, disconnected))
  return answer(services, call, { run, after: 0 })
}

/** The chat of the tool's arguments. Throws a validation error that names the argument. */
export function toChat(
  { agent }: Pick<AskServices, 'agent'>,
  call: McpCall,
  input: Record<string, unknown>,
  operation: Operation,
): NewChat {
  const { request } = call.caller
  const body = { messages: [{ role: 'user' as const, content: messageOf(input) }], session_id: sessionIdOf(input) }
  const chat = toNewChat(agent, request, operation, { body, at: argumentsLoc })
  const headers = contextOf(request, call.context.mcpReq._meta)
  return { ...chat, newSessionId: randomUUIDv7(), request: { ...chat.request, headers } }
}

/** A run, and the number of its last event that the client has seen. */
interface Following {
  run: OpenRun
  after: number
  /** The user has dismissed a form: the pending calls are not put to the user again. */
  isDismissed?: boolean
}

/** Follows a run until it ends, or waits for a decision that the user of this client cannot take. */
export async function answer(
  services: AskServices,
  call: McpCall,
  { run: first, after: start, isDismissed = false }: Following,
): Promise<CallToolResult | InputRequiredResult> {
  let run = first
  let after = start
  let mayAsk = !isDismissed
  for (;;) {
    await followOrCancel(services, call, run, after)
    after = run.log.events.length
    if (!run.log.interrupted || call.disconnected.aborted) break
    const open = await services.openCalls.openOf(keyOf(call.caller, run.requestId))
    const pending = mayAsk && canDecide(call, open) ? open : []
    // Without open calls, somebody has decided meanwhile: the run goes on.
    if (open.length > 0 && pending.length === 0 && !call.isTask) break
    if (call.client.era === 'modern' && pending.length > 0) return toInputRequired(run.requestId, pending)
    const resumed = await decideByForms(services, call, { run, pending })
    // A request for the result of a task waits on, since somebody may decide elsewhere.
    if (!resumed && !(call.isTask && mayAsk)) break
    mayAsk = resumed !== undefined
    run = resumed ?? run
  }
  return readAnswer(services, call, run)
}

/** Whether the user of this client may decide all of the calls, and can be asked. Otherwise somebody decides elsewhere. */
export function canDecide({ client, caller }: Pick<McpCall, 'client' | 'caller'>, pending: readonly PendingCall[]): boolean {
  const isShown = (waiting: PendingCall) => (addressIn(waiting) === undefined ? client.takesForms : client.takesUrls)
  return (
    permits(caller.principal, accessTo.decideCall) && pending.length > 0 && pending.every((call) => call.by === 'caller' && isShown(call))
  )
}

/** The forms as input requests, by the ids of their calls. `requestState` is the id of the run, which only its owner can continue. */
function toInputRequired(requestId: string, pending: readonly PendingCall[]): InputRequiredResult {
  return inputRequired({ inputRequests: toInputRequests(pending), requestState: requestId })
}

export function toInputRequests(pending: readonly PendingCall[]) {
  const toRequest = (call: PendingCall) => {
    const url = addressIn(call)
    return url === undefined ? inputRequired.elicit(toForm(call)) : inputRequired.elicitUrl({ message: toPage(call, url).message, url })
  }
  return Object.fromEntries(pending.map((call) => [call.callId, toRequest(call)]))
}

/** Continues the run of an earlier round with the answers of the user. A dismissed form decides nothing, and ends the rounds. */
async function decideAgain(services: AskServices, call: McpCall, requestId: string): Promise<Following> {
  const { caller, context } = call
  if (!isId(requestId)) throw unknownState()
  // Only a client that may decide is given a state, which is the id of a run.
  requireAccess(caller.principal, accessTo.decideCall)
  const stored = await services.runStore.find(keyOf(caller, requestId))
  if (stored?.status !== 'interrupted') return { run: await followRun(services, call, requestId), after: 0 }
  const answers = context.mcpReq.inputResponses ?? {}
  const { before } = await answerCalls(services, { principal: caller.principal, run: stored, toDecisions: decisionsIn(answers) })
  const isDismissed = Object.entries(answers).some(([callId, value]) => toDecision(callId, value) === undefined)
  return { run: await followRun(services, call, requestId), after: before.length, isDismissed }
}

function unknownState(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'The requestState names no run.')
}

/** In MCP a disconnect cancels the request, so the run is cancelled at once, without the reconnect grace. A run that waits for approval goes on waiting. */
async function followOrCancel({ runs }: AskServices, call: McpCall, run: OpenRun, after: number): Promise<void> {
  const { caller, disconnected, isTask } = call
  const cancel = () => {
    if (isTask || run.log.ended) return
    void runs
      .cancel(keyOf(caller, run.requestId))
      .catch((error: unknown) => caller.request.log.debug({ err: error }, 'the run could not be cancelled'))
  }
  if (disconnected.aborted) cancel()
  else disconnected.addEventListener('abort', cancel, { once: true })
  try {
    await followWithProgress(call, run, after)
  } finally {
    disconnected.removeEventListener('abort', cancel)
  }
}

/** Waits for the last event of a run. A client with a progress token receives the steps after event `after` as progress. */
async function followWithProgress({ context, disconnected, report }: McpCall, run: OpenRun, after: number): Promise<void> {
  // Without a progress token the client reads no events.
  if (context.mcpReq._meta?.progressToken === undefined) return waitForEnd(run, disconnected)
  // The numbers of several tools do not grow together: in a run, the number counts the reports.
  const onProgress = ({ step, report: progress }: ProgressEvent) => void report.text(`${step.tool}: ${progressText(progress)}`)
  for await (const { events } of run.log.follow({ after, isValid: true }, disconnected, onProgress)) {
    for (const text of toProgress(events)) await report.text(text)
  }
  await run.ended
}

/** Reads the answer of a run that has ended or waits, with the files that the caller may read. */
export async function readAnswer(
  { artifacts }: Pick<AskServices, 'artifacts'>,
  { caller }: McpCall,
  run: OpenRun,
): Promise<CallToolResult> {
  const mayRead = permits(caller.principal, accessTo.linkArtifact)
  const kept: KeptFiles = run.log.last?.files ?? { folder: '', made: [] }
  const files = await artifacts.toAnswerFiles(kept, mayRead)
  const pictures = mayRead ? await toPictures(kept.made, (file) => artifacts.read(kept.folder, file)) : []
  return toAskResult(run, { files, pictures })
}

/** Location of the tool's arguments in the request. */
const argumentsLoc = ['body', 'params', 'arguments']

function messageOf({ message, ...rest }: Record<string, unknown>): string {
  if (typeof message !== 'string' || message === '') throw invalid([...argumentsLoc, 'message'], 'must be a string that is not empty')
  const [unknown] = Object.keys(rest).filter((name) => name !== 'session_id')
  if (unknown !== undefined) throw invalid([...argumentsLoc, unknown.slice(0, 100)], 'is not known')
  return message
}

function sessionIdOf({ session_id: id }: Record<string, unknown>): string | undefined {
  if (id === undefined || typeof id === 'string') return id
  throw invalid([...argumentsLoc, 'session_id'], 'is not a valid id')
}
