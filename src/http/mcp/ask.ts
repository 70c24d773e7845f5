import { randomUUIDv7 } from 'node:crypto'
import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid } from '../../errors.ts'
import type { PendingCall } from '../../agent/approval.ts'
import { toApprovalRequired, toWaitingText } from '../../runs/approvals/approval-view.ts'
import type { Runs } from '../../runs/runs.ts'
import type { OpenRun } from '../../runs/open-run.ts'
import { collect, errorOf } from '../../runs/log/outcome.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import { toNewChat } from '../chat-request.ts'
import { contextOf, type Caller } from '../protocol-caller.ts'
import { toFailure } from './results.ts'

export interface AskServices {
  runs: Runs
  agent: CurrentAgent
}

export const askName = 'ask'

/** The MCP tool that asks the agent. */
export function askTool({ name, description }: { name: string; description: string }): Tool {
  return {
    name: askName,
    title: `Ask ${name}`,
    description: [`Asks the agent ${name} and returns its answer.`, description].filter((part) => part !== '').join(' '),
    inputSchema: {
      type: 'object',
      properties: {
        message: { type: 'string', minLength: 1, description: 'The question to the agent.' },
        session_id: {
          type: 'string',
          description:
            'The session_id of an earlier answer, to continue that conversation. Without a session_id a new conversation begins.',
        },
      },
      required: ['message'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        output: { type: 'string' },
        session_id: { type: 'string' },
        request_id: { type: 'string' },
        approval_required: {
          type: 'object',
          description: 'Tool calls that wait for the approval of a person; the output is the answer so far.',
          properties: {
            request_id: { type: 'string' },
            calls: {
              type: 'array',
              items: {
                type: 'object',
                properties: { tool_call_id: { type: 'string' }, tool: { type: 'string' }, tool_input: { type: 'object' } },
                required: ['tool_call_id', 'tool', 'tool_input'],
              },
            },
          },
          required: ['request_id', 'calls'],
        },
      },
      required: ['output', 'session_id', 'request_id'],
    },
  }
}

/** Runs a chat and returns its answer. A request with a progress token receives the steps as progress notifications. */
export async function ask(
  { runs, agent }: AskServices,
  caller: Caller,
  input: Record<string, unknown>,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  const { principal, request } = caller
  const body = { messages: [{ role: 'user' as const, content: messageOf(input) }], session_id: sessionIdOf(input) }
  const chat = toNewChat(request, 'chain', agent().config.limits.max_input_characters, { body, at: argumentsLoc })
  const headers = contextOf(request, mcpReq._meta)
  const disconnected = AbortSignal.any([mcpReq.signal, caller.disconnected])
  const run = await runs.open(principal, { ...chat, newSessionId: randomUUIDv7(), request: { ...chat.request, headers } }, disconnected)
  const { tenant, owner } = principal
  // In MCP a disconnect cancels the request, so the run is cancelled at once, without the reconnect grace.
  const cancel = () =>
    void runs
      .cancel({ tenant, owner, requestId: run.requestId })
      .catch((error: unknown) => request.log.debug({ err: error }, 'the run could not be cancelled'))
  if (disconnected.aborted) cancel()
  else disconnected.addEventListener('abort', cancel, { once: true })
  await waitForEnd(run, mcpReq, disconnected)
  disconnected.removeEventListener('abort', cancel)
  const { answer, end } = collect(run.input, run.log.events)
  const error = errorOf(end)
  if (error) return toFailure(error)
  const structuredContent = { output: answer.output, session_id: run.sessionId, request_id: run.requestId }
  if (end.type === 'end') return { content: [{ type: 'text', text: answer.output }], structuredContent }
  return {
    content: [{ type: 'text', text: toApprovalText(run.requestId, answer.output, end.calls) }],
    structuredContent: { ...structuredContent, approval_required: toApprovalRequired(run.requestId, end.calls) },
  }
}

/** The pending calls as text, for models that read only text. */
function toApprovalText(requestId: string, output: string, calls: readonly PendingCall[]): string {
  const callTexts = toApprovalRequired(requestId, calls).calls.map((call) => JSON.stringify(call))
  const outputLines = output === '' ? [] : [output, '']
  const instructions = `For each call: {"tool_call_id": ..., "decision": "approve" or "reject"}. Then the answer is at GET /core/v1/runs/${requestId}.`
  return [...outputLines, toWaitingText(requestId, calls), ...callTexts, instructions].join('\n')
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

async function waitForEnd(run: OpenRun, mcpReq: ServerContext['mcpReq'], disconnected: AbortSignal): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) {
    // The client reads no events without a progress token, so the run must not wait for a reader.
    const release = run.log.suspendBackpressure()
    disconnected.addEventListener('abort', release, { once: true })
    return run.ended
  }
  let progress = 0
  for await (const { events } of run.log.follow(0, disconnected)) {
    for (const message of events.flatMap(toProgress)) {
      progress++
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined)
    }
  }
  await run.ended
}

function toProgress(event: LoggedEvent): string[] {
  switch (event.type) {
    case 'step_start':
      return [`${event.step.tool} has started.`]
    case 'step_end':
      return [`${event.step.tool} has ended: ${event.step.status}.`]
    case 'text':
    case 'retrying':
    case 'interrupt':
    case 'end':
      return []
  }
}
