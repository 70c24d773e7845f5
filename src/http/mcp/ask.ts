import { randomUUIDv7 } from 'node:crypto'
import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid } from '../../errors.ts'
import type { PendingCall } from '../../agent/approval.ts'
import { toApprovalRequired, toWaitingText } from '../../runs/approvals/approval-view.ts'
import type { Chats } from '../../runs/chat.ts'
import type { OpenRun } from '../../runs/ownership/live-runs.ts'
import { collect, errorOf } from '../../runs/log/outcome.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import { toNewChat } from '../chat-request.ts'
import { contextOf, type Caller } from '../protocol-caller.ts'
import { toFailure } from './results.ts'

export interface AskServices {
  runs: Chats
  agent: CurrentAgent
}

export const askName = 'ask'

/** The agent as a tool. */
export function askTool({ name, description }: { name: string; description: string }): Tool {
  return {
    name: askName,
    title: `Ask ${name}`,
    description: [`Asks the agent ${name} and returns its answer.`, description].filter((part) => part !== '').join(' '),
    inputSchema: {
      type: 'object',
      properties: {
        message: { type: 'string', minLength: 1, description: 'What the agent is asked.' },
        session_id: { type: 'string', description: 'Of an earlier answer, to go on with that conversation; without it a new one begins.' },
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
          description: 'Calls that wait for the approval of a person; the output is what was said before.',
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

/** A chat, as every door opens one. Its steps are told as progress to who gave a token for that. */
export async function ask(
  { runs, agent }: AskServices,
  caller: Caller,
  input: Record<string, unknown>,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  const { principal, request } = caller
  const body = { messages: [{ role: 'user' as const, content: messageOf(input) }], session_id: sessionOf(input) }
  const chat = toNewChat(request, 'chain', agent().config.limits.max_input_characters, { body, at: place })
  const headers = contextOf(request, mcpReq._meta)
  const disconnected = AbortSignal.any([mcpReq.signal, caller.disconnected])
  const run = await runs.open(principal, { ...chat, newSessionId: randomUUIDv7(), request: { ...chat.request, headers } }, disconnected)
  const { tenant, owner } = principal
  // To leave is how a client of this protocol cancels: nobody comes back for the answer.
  const stop = () =>
    void runs
      .cancel({ tenant, owner, requestId: run.requestId })
      .catch((error: unknown) => request.log.debug({ err: error }, 'not cancelled'))
  if (disconnected.aborted) stop()
  else disconnected.addEventListener('abort', stop, { once: true })
  await untilEnd(run, mcpReq, disconnected)
  disconnected.removeEventListener('abort', stop)
  const { answer, end } = collect(run.input, run.log.events)
  const error = errorOf(end)
  if (error) return toFailure(error)
  const structuredContent = { output: answer.output, session_id: run.sessionId, request_id: run.requestId }
  if (end.type === 'end') return { content: [{ type: 'text', text: answer.output }], structuredContent }
  return {
    content: [{ type: 'text', text: toWaiting(run.requestId, answer.output, end.calls) }],
    structuredContent: { ...structuredContent, approval_required: toApprovalRequired(run.requestId, end.calls) },
  }
}

/** For a model that reads nothing else. */
function toWaiting(requestId: string, output: string, calls: readonly PendingCall[]): string {
  const each = toApprovalRequired(requestId, calls).calls.map((call) => JSON.stringify(call))
  const said = output === '' ? [] : [output, '']
  const how = `For each: {"tool_call_id": ..., "decision": "approve" or "reject"}. The answer is at GET /core/v1/runs/${requestId} then.`
  return [...said, toWaitingText(requestId, calls), ...each, how].join('\n')
}

const place = ['body', 'params', 'arguments']

function messageOf({ message, ...rest }: Record<string, unknown>): string {
  if (typeof message !== 'string' || message === '') throw invalid([...place, 'message'], 'must be a text that is not empty')
  const [unknown] = Object.keys(rest).filter((name) => name !== 'session_id')
  if (unknown !== undefined) throw invalid([...place, unknown.slice(0, 100)], 'is not known')
  return message
}

function sessionOf({ session_id: id }: Record<string, unknown>): string | undefined {
  if (id === undefined || typeof id === 'string') return id
  throw invalid([...place, 'session_id'], 'is not a valid id')
}

async function untilEnd(run: OpenRun, mcpReq: ServerContext['mcpReq'], disconnected: AbortSignal): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) {
    // Nobody reads along: the run waits for no reader.
    const release = run.log.unpace()
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
