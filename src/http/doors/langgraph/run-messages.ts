import type { Step, StepStart } from '../../../agent/events.ts'
import { isQuestionId, toCallId, type PendingCall } from '../../../agent/approval.ts'
import type { JsonObject } from '../../../agent/messages.ts'
import { fieldsOf } from '../../../json/shape.ts'
import type { LastEvent, LoggedEvent } from '../../../runs/run.ts'
import { type AiMessage, type LangChainMessage, toAi, toAnswer, toCall, toHuman, toToolMessage } from './messages.ts'

/** What an event has changed. */
export interface Change {
  /** The message of the model that is complete now. */
  completed?: AiMessage | undefined
  /** A message of a tool or person. */
  added?: LangChainMessage
  /** The message of the model that has grown, by a text or a call. */
  grown?: { message: AiMessage; text: string; call?: { index: number } }
  /** True where a text was taken back: the model begins its message anew. */
  isReset?: boolean
}

/** The messages of a run, read from its events. */
export class RunMessages {
  readonly messages: LangChainMessage[] = []
  private readonly requestId: string
  private readonly sessionIds: ReadonlySet<string>
  private readonly calls = new Set<string>()
  private count = 0
  /** The message of the model that still grows, with its place. */
  private open: { message: AiMessage; index: number } | undefined

  /** `sessionIds`: ids of messages that the session has. */
  constructor(requestId: string, sessionIds: ReadonlySet<string> = new Set()) {
    this.requestId = requestId
    this.sessionIds = sessionIds
  }

  take(event: LoggedEvent): Change {
    switch (event.type) {
      case 'text':
        return event.label === 'answer' && event.text !== '' ? this.addText(event.text) : {}
      case 'retrying':
        return this.reset()
      case 'step_start':
        return isCall(event.step) ? this.addCall(event.step.id, event.step.tool, event.step.input as JsonObject) : {}
      case 'step_end':
        return isCall(event.step) ? this.addResult(event.step) : {}
      case 'user_message':
        return this.sessionIds.has(event.id)
          ? { completed: this.close() }
          : { completed: this.close(), added: this.add(toHuman(event.id, event.text)) }
      case 'interrupt':
        return this.addPending(event.calls)
      case 'end':
        return {}
    }
  }

  /** Completes the messages by the last event. */
  last(event: LastEvent, files: readonly object[]): Change {
    if (event.type === 'interrupt') return this.addPending(event.calls)
    const { open } = this
    if (open) this.set({ message: toAnswer(open.message, event.reason, event.usage, files), index: open.index })
    return { completed: this.close() }
  }

  private addText(text: string): Change {
    const completed = this.open && this.open.message.tool_calls.length > 0 ? this.close() : undefined
    const { message, index } = this.open ?? this.begin()
    this.set({ message: { ...message, content: message.content + text }, index })
    return { completed, grown: { message: this.open!.message, text } }
  }

  private addCall(id: string, tool: string, args: JsonObject): Change {
    if (this.calls.has(id)) return {}
    this.calls.add(id)
    const { message, index } = this.open ?? this.begin()
    const calls = [...message.tool_calls, toCall(id, tool, args)]
    this.set({ message: { ...message, tool_calls: calls }, index })
    return { grown: { message: this.open!.message, text: '', call: { index: calls.length - 1 } } }
  }

  private addResult({ id, tool, output, status }: Step): Change {
    const text = typeof output === 'string' ? output : JSON.stringify(output)
    const { error } = fieldsOf(output)
    const content = status === 'error' && typeof error === 'string' ? error : text
    const completed = this.close()
    return { completed, added: this.add(toToolMessage(id, tool, content, status === 'error')) }
  }

  private addPending(calls: readonly PendingCall[]): Change {
    const waiting = calls.filter(({ by, callId }) => by !== 'budget' && !isQuestionId(callId))
    for (const { callId, tool, input } of waiting) this.addCall(toCallId(callId), tool, input)
    return { completed: this.close() }
  }

  private reset(): Change {
    const { open } = this
    if (!open || open.message.tool_calls.length > 0) return {}
    this.set({ message: { ...open.message, content: '' }, index: open.index })
    return { isReset: true }
  }

  private begin() {
    return { message: toAi(this.requestId, this.count++, ''), index: this.messages.length }
  }

  private set(open: { message: AiMessage; index: number }): void {
    this.open = open
    this.messages[open.index] = open.message
  }

  private add(message: LangChainMessage): LangChainMessage {
    this.messages.push(message)
    return message
  }

  private close(): AiMessage | undefined {
    const completed = this.open?.message
    this.open = undefined
    return completed
  }
}

/** Calls of the agent itself. What a sub-agent calls is a part of the call of the sub-agent. */
function isCall({ type, subAgent }: StepStart): boolean {
  return (type === 'tool_call' || type === 'sub_agent_call') && subAgent === undefined
}
