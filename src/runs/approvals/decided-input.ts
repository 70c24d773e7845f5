import type { Owner } from '../../access/owner.ts'
import type { JsonObject, JsonSchema } from '../../agent/messages.ts'
import { withDefaults } from '../../agent/suspension.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError } from '../../errors.ts'
import { isDeeper, maxJsonDepth } from '../../json/shape.ts'
import type { StoredCall } from './approval-store.ts'
import type { RequestedDecision } from './decisions.ts'

/** Checks replaced arguments with the tool's schema. */
export async function checkInput(agent: CurrentAgent, { tool: name }: StoredCall, requested: RequestedDecision): Promise<void> {
  if (requested.decision !== 'approve' || !requested.input) return
  const { input } = requested
  if (isDeeper(input, maxJsonDepth)) throw invalid(['body', 'tool_input'], 'is nested too deeply')
  const listing = agent()
    .tools.list()
    .find((candidate) => candidate.name === name)
  if (!listing) throw invalid(['body', 'tool_input'], `the tool ${name} does not exist any more`)
  if (!listing.tool) throw new ServiceError('tool_not_ready', `The tool ${name} is not ready: ${listing.reason ?? listing.status}`)
  const fault = await listing.tool.check(input)
  if (fault) throw invalid(['body', 'tool_input'], fault)
}

/** The fault of an answer to a question of a server, by the schema of the question; undefined when it is valid. */
export type CheckAnswer = (schema: JsonSchema, answer: JsonObject, caller: Owner) => Promise<string | undefined>

/** Checks the answer to a question of a server. A question without a schema is confirmed or declined. */
export async function checkReply(
  checkAnswer: CheckAnswer,
  { input: question, tenant, owner }: StoredCall,
  requested: RequestedDecision,
): Promise<void> {
  if (requested.decision !== 'approve') return
  const { input } = requested
  const { answer_schema: schema } = question
  if (schema === undefined && input) throw invalid(['body', 'tool_input'], 'must be absent: the question is only confirmed or declined')
  if (schema === undefined) return
  if (input && isDeeper(input, maxJsonDepth)) throw invalid(['body', 'tool_input'], 'is nested too deeply')
  const fault = await checkAnswer(schema as JsonSchema, withDefaults(schema as JsonObject, input ?? {}), { tenant, owner })
  if (fault) throw invalid(['body', 'tool_input'], `is the answer to the question, and does not fit its answer_schema: ${fault}`)
}
