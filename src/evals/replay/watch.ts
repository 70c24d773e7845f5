import type { Emit, AgentEvent, LoopOutcome, ResultEvent, Step, TurnEvent } from '../../agent/events.ts'
import { runAgent } from '../../agent/loop.ts'
import type { JsonValue } from '../../agent/messages.ts'
import type { LoopOptions } from '../../agent/options.ts'
import { ownToolNames } from '../../agent/tool-names.ts'
import { toStableJson } from '../../configuration/parse.ts'
import type { NotedWrite } from './answers.ts'
import type { RecordedMessages } from './messages.ts'
import type { Recording } from './recording.ts'

/** The first call, reply or event that the recording does not have. */
export interface Divergence {
  reason: DivergenceReason
  /** Absent where the divergence is no call. */
  call?: { tool: string; tool_input: JsonValue; parent: number | null }
  /** The number of the event that differs, from 1. */
  event?: number
}

/**
 * `no_recording`: the call was not recorded. `used_up`: recorded less often. `tool_missing`: the candidate has no such tool.
 * `refused`: the candidate refuses a call that was made. `reply_missing`: the model was asked more often. `events_differ`: the events of a
 * replay with recorded replies are others.
 */
export type DivergenceReason = 'no_recording' | 'used_up' | 'tool_missing' | 'refused' | 'reply_missing' | 'events_differ'

export interface WatchOptions {
  recording: Recording
  /** The messages of people to the run. */
  messages: RecordedMessages
  /** Names of the tools that are answered by the recording. */
  isReplayed(tool: string): boolean
  onDivergence(divergence: Divergence): void
  onWrite(write: NotedWrite): void
}

/** Runs the loop of a replay as usual, and notes which recorded calls its calls are. */
export class Watch {
  private readonly options: WatchOptions

  constructor(options: WatchOptions) {
    this.options = options
  }

  readonly loop: typeof runAgent = async (options, receive) => this.leave(await runAgent(this.enter(options), this.pass(receive)))

  /** The options of the loop. */
  protected enter(options: LoopOptions): LoopOptions {
    return { ...options, inbox: this.options.messages.inbox }
  }

  /** The outcome of the loop. */
  protected leave(outcome: LoopOutcome): LoopOutcome {
    return outcome
  }

  protected pass(receive: Emit): Emit {
    return (event) => {
      this.note(event)
      return receive(event)
    }
  }

  protected note(event: AgentEvent): void {
    const inner = event.type === 'nested' ? event.event : event
    const agent = event.type === 'nested' ? event.callId : undefined
    if (inner.type === 'turn') this.noteTurn(inner, agent)
    else if (inner.type === 'result') this.noteResult(inner)
    else if (inner.type === 'step_start' && inner.step.type !== 'planning' && !inner.step.isOfProvider) {
      const { id: callId, tool, input } = inner.step
      this.options.recording.claim({ callId, tool, input })
    }
  }

  protected noteTurn({ message }: TurnEvent, agent: string | undefined): void {
    if (agent === undefined) this.options.messages.replied(message.toolCalls.length > 0)
    this.options.recording.requested(
      message.toolCalls.map(({ id }) => id),
      agent,
    )
  }

  /** Results of tools that no recording answers: the loop has refused the call, or has made the call itself. */
  private noteResult({ step, effect }: ResultEvent): void {
    const { recording, isReplayed, onDivergence, onWrite } = this.options
    const recorded = recording.claimOf(step.id)
    const call = { tool: step.tool, tool_input: step.input, parent: recording.parentOf(step.id) ?? null }
    if (ownToolNames.has(step.tool)) {
      if (effect === 'write') onWrite({ tool: step.tool, tool_input: step.input, n: recorded?.n ?? null, recorded: recorded !== undefined })
      return
    }
    const isRefused = recorded && step.type === 'tool_call' && step.status === 'error' && !isSameEnd(step, recorded)
    if (isRefused) onDivergence({ reason: isReplayed(step.tool) ? 'refused' : 'tool_missing', call })
  }
}

function isSameEnd({ status, output }: Step, recorded: { status: string; output: JsonValue }): boolean {
  return status === recorded.status && toStableJson(output) === toStableJson(recorded.output)
}
