import type { JsonObject } from '../../agent/messages.ts'
import type { ToolOffer } from '../../agent/model.ts'
import { fillArguments, toTopic } from './arguments.ts'
import { chooseTool, type Choice } from './choose-tool.ts'
import { findTimeZones } from './time-zones.ts'
import { isDependent, isFollowUp } from './question.ts'

/** Plan for a part of a question. The same question, tools and figures always give the same plan. */
export interface PlannedPart {
  part: string
  /** The part completed from earlier questions. The answer refers to this text. */
  request: string
  choice?: Choice
  /** True if the part needs a figure of an earlier part that is not available yet. */
  waits: boolean
}

export interface PlanOptions {
  parts: readonly string[]
  tools: readonly ToolOffer[]
  /** Earlier questions that the first part may follow up, oldest first. */
  earlier: readonly string[]
  /** Returns the figure of an earlier part of the plan. */
  figureOf(planned: PlannedPart): string | undefined
}

export function toPlan({ parts, tools, earlier, figureOf }: PlanOptions): PlannedPart[] {
  const plan: PlannedPart[] = []
  let chain = toChain(earlier, tools)
  for (const part of parts) {
    const before = plan.at(-1)
    if (before && isDependent(part)) {
      const figure = figureOf(before)
      const request = figure === undefined ? part : part.replace(/\b(that|it|this|the (?:result|total|sum|answer))\b/i, figure)
      plan.push({ part, request, ...choiceOf(figure === undefined ? undefined : chooseTool(request, tools)), waits: figure === undefined })
      continue
    }
    const planned = planPart(part, tools, chain)
    plan.push(...perZone(planned))
    chain = isFollowUp(part) && chain.length > 0 ? nextChain(chain, planned) : [part]
  }
  return plan
}

/** Chains earlier questions. Each follow-up is resolved with the questions before. */
function toChain(earlier: readonly string[], tools: readonly ToolOffer[]): string[] {
  let chain: string[] = []
  for (const question of earlier)
    chain = isFollowUp(question) && chain.length > 0 ? nextChain(chain, planPart(question, tools, chain)) : [question]
  return chain
}

/** Adds a question to the chain. SQL needs all questions of the chain; for other tools the resolved question replaces the chain. */
function nextChain(chain: readonly string[], planned: PlannedPart): string[] {
  return planned.choice && 'sql' in planned.choice.input ? [...chain, planned.part] : [planned.request]
}

function planPart(part: string, tools: readonly ToolOffer[], chain: readonly string[]): PlannedPart {
  const partChoice = chooseTool(part, tools)
  const last = chain.at(-1)
  if (last === undefined || !isFollowUp(part)) return { part, request: part, ...choiceOf(partChoice), waits: false }
  const before = chooseTool(last, tools, chain.slice(0, -1))
  const addressesAnother = partChoice && before && partChoice.tool.name !== before.tool.name && partChoice.score >= 8
  if (!before || addressesAnother) return { part, request: part, ...choiceOf(partChoice), waits: false }
  const followed = followUp(part, before.tool, chain)
  return { part, request: followed?.request ?? part, ...choiceOf(followed?.choice ?? partChoice), waits: false }
}

/** Plans a call for each mentioned time zone, for a tool that accepts a single zone. */
function perZone(planned: PlannedPart): PlannedPart[] {
  const { choice, request } = planned
  const name = Object.keys(choice?.input ?? {}).find((key) => /time_?zone|^tz$/i.test(key))
  const zones = name ? findTimeZones(request) : []
  if (!choice || !name || zones.length < 2) return [planned]
  return zones.map((zone) => ({ ...planned, choice: { ...choice, input: { ...choice.input, [name]: zone } } }))
}

function choiceOf(choice: Choice | undefined): { choice?: Choice } {
  return choice ? { choice } : {}
}

/** The earlier call with the input replaced by the follow-up. */
function followUp(part: string, tool: ToolOffer, chain: readonly string[]): { request: string; choice: Choice } | undefined {
  const last = chain.at(-1)!
  const properties = Object.keys(tool.schema['properties'] ?? {})
  if (properties.includes('sql')) {
    const choice = chooseTool(part, [tool], chain)
    return choice && { request: part, choice }
  }
  const request = properties.includes('expression') ? replaceNumber(last, part) : continued(last, part)
  const filled = fillArguments(tool.schema, request)
  const input: JsonObject | undefined = filled?.input
  return input && { request, choice: { tool, input, evidence: [part], score: 5 } }
}

/** Replaces the number of the same kind: "17% of 2,340" and then "and 20%?". */
function replaceNumber(last: string, part: string): string {
  const [digits] = /\d[\d,]*(?:\.\d+)?\s*%?/.exec(part) ?? []
  if (!digits) return part
  const isPercent = digits.endsWith('%')
  const matches = [...last.matchAll(/\d[\d,]*(?:\.\d+)?(\s*%)?/g)].filter((match) => (match[1] !== undefined) === isPercent)
  const match = isPercent ? matches[0] : matches.at(-1)
  if (!match) return part
  return last.slice(0, match.index) + digits.trim() + last.slice(match.index + match[0].length)
}

/** Applies a follow-up: "what about X" replaces the subject, "and for X" keeps the topic and narrows the topic. */
function continued(last: string, part: string): string {
  const object = part
    .replace(/^(and |so |ok |okay )?((what|how) about|and|or|but|now|same for|the same for|only|in|for)\s+(in |for )?(the )?/i, '')
    .replace(/(?<![?!.])[?!.]+$/, '')
  if (/^(and |so )?(what|how) about\b|^and (in|the)?\s*\S+\W*$/i.test(part)) return object
  return `${toTopic(last)} ${object}`
}
