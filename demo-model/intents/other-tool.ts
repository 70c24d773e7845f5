import { fillArguments, isFreeText } from '../arguments.ts'
import { toTopic } from '../topic.ts'
import type { Part, Reading } from '../part.ts'
import { isReader, isSearch, isSubAgent, weigh, type Profile } from '../tools.ts'
import { said, tried } from '../work.ts'

/** Least weight of a tool that fits a request. */
const threshold = 2.5
const ownIntents = [['sql'], ['expression'], ['timezone'], ['path'], ['file_name', 'content'], ['spec', 'data']]

/** Any other tool that only reads: OpenAPI operations, MCP tools, modules, sub-agents. */
export function readOtherTool(part: Part): Reading[] {
  // No tool tells reasons.
  if (/^why\b/i.test(part.text)) return []
  const others = part.profiles.filter((profile) => isReader(profile.tool) && !isSearch(profile) && !isOwn(profile))
  return others.flatMap((profile) => readTool(profile, part) ?? [])
}

function isOwn({ parameters }: Profile): boolean {
  return ownIntents.some((names) => names.every((name) => parameters.includes(name)))
}

function readTool(profile: Profile, part: Part): Reading | undefined {
  const { tool } = profile
  const last = part.earlier.at(-1)
  const request = part.isFollowUp && last !== undefined ? `${toTopic(last)} ${toTopic(part.text)}` : part.text
  const { score, evidence } = weigh(profile, request, part.profiles)
  if (score < (isSubAgent(tool) ? 4 : threshold)) return undefined
  const filled = fillArguments(tool.schema, request)
  if (filled.missing.length > 0)
    return {
      score: score - 2,
      work: () => said(`To use \`${tool.name}\` I need ${filled.missing.map((name) => `\`${name}\``).join(' and ')}.`, false),
    }
  const stated = filled.stated.filter((name) => !isFreeText(name)).length
  const guessed = profile.required.filter((name) => !filled.stated.includes(name) && !isFreeText(name)).length
  return {
    score: score + 2 * stated + (guessed > 0 ? 1 : 0),
    work: () => tried({ tool, input: filled.input, evidence }, request),
  }
}
