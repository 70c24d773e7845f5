import type { EndReason, TextLabel } from '../../agent/events.ts'

/** The values of labels in stream chunks, and what each means. */

/** `agent_step`. The names in brackets stand for the names of tools and sub-agents. */
export const agentSteps = {
  answer: 'A piece of the answer; also the last chunk, whose token is empty.',
  reasoning: 'A piece of what a reasoning model thinks before it answers.',
  planning: 'A piece of the plan, or of the text of its steps, with `workflow_type: plan_execute`.',
  'tool:<name>': 'A tool call, with an empty token: one chunk when the call starts, one with `step` when it ends.',
  'sub_agent:<name>': 'A task of a sub-agent, likewise: one chunk when it starts, one with `step` when it ends.',
  retrying:
    "The model's stream broke, or the run resumed after a crash: the answer begins anew. Drop the text of the answer so far. The token is empty.",
} as const satisfies Record<TextLabel | 'retrying' | 'tool:<name>' | 'sub_agent:<name>', string>

/** `finish_reason`. */
export const finishReasons = {
  null: 'Not the last chunk. The value is the text `"null"`.',
  stop: 'The answer is complete.',
  length: 'The model reached its limit of output tokens; the answer is cut.',
  content_filter: 'The provider of the model stopped the answer.',
  max_iterations: 'The last of `max_iterations` model calls gave the answer.',
  timeout: 'The run reached `max_execution_time`; the answer is the best so far.',
  cancelled: 'The run was cancelled, or its client went away.',
  tool_calls: 'Calls of client tools wait for their output; `client_tool_calls` lists them. After the outputs, the run goes on.',
  approval_required: 'Tool calls wait for a decision; `approval_required` lists them. After the decisions, the run goes on.',
  schema_mismatch: 'The answer does not fit its schema after all repairs; `error.details.output` has the last text.',
  error: 'The run failed; `error` says why.',
} as const satisfies Record<EndReason | 'null' | 'approval_required' | 'tool_calls', string>
