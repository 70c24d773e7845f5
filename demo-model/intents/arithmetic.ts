import { describeResult } from '../answers/answer.ts'
import { findExpression } from '../expression.ts'
import { scores, type Part, type Reading } from '../part.ts'
import { findWith } from '../tools.ts'
import { sure, type Work } from '../work.ts'
import type { ToolOffer } from '../../src/agent/model.ts'

/** Calculations and conversions of units. */
export function readArithmetic(part: Part): Reading | undefined {
  const tool = findWith(part.tools, 'expression')
  if (!tool || /\w(?:st|nd|rd|th) (?:quarter|half) of\b/i.test(part.text)) return undefined
  let request = part.text
  let last = part.earlier[0]
  for (const text of last === undefined ? [] : [...part.earlier.slice(1), part.text]) request = last = continueWith(last!, text) ?? text
  const found = findExpression(request)
  if (!found) return undefined
  // An expression inside of a question about something else is not the question.
  return { score: found.isAll || request !== part.text ? scores.exact : 3, work: () => calculate(tool, request, found.expression) }
}

function* calculate(tool: ToolOffer, request: string, expression: string): Work {
  const input = { expression }
  const result = yield { tool, input, evidence: [expression] }
  return sure(describeResult(request, input, result), /"result":\s*"?(-?\d+(?:\.\d+)?)/.exec(result.text)?.[1])
}

/** The calculation before, continued: "and times 10?" goes on with the result, "and 20%?" replaces the number of the same kind. */
function continueWith(last: string, text: string): string | undefined {
  const before = findExpression(last)
  if (!before) return undefined
  const bare = text.replace(/^(?:(?:and|then|now|but|ok|so|that|what is|what about|how about|it)\s+)+/i, '')
  const continued = findExpression(`1 ${bare}`)
  if (continued?.isAll && /^1 [-+*/^]/.test(continued.expression)) return `(${before.expression})${continued.expression.slice(1)}`
  const [digits] = /\d[\d,]*(?:\.\d+)?\s*%?/.exec(text) ?? []
  if (!/^(?:and|what about|how about|or) /i.test(text) || findExpression(bare) || !digits) return undefined
  const isPercent = digits.endsWith('%')
  const matches = [...last.matchAll(/\d[\d,]*(?:\.\d+)?(\s*%)?/g)].filter((match) => (match[1] !== undefined) === isPercent)
  const match = isPercent ? matches[0] : matches.at(-1)
  return match && last.slice(0, match.index) + digits.trim() + last.slice(match.index + match[0].length)
}
