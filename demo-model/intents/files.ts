import { isObject } from '../../src/json/shape.ts'
import type { JsonObject, ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { parseJson } from '../answers/answer.ts'
import { closest } from '../language/closest.ts'
import { findPhrase, phrases } from '../language/phrases.ts'
import { readWords } from '../language/words.ts'
import { isPath, quotedIn } from '../literals.ts'
import { scores, type Part, type Reading } from '../part.ts'
import { findWith } from '../tools.ts'
import { reported, tried, unsure, type Work } from '../work.ts'
import { listed } from '../../src/json/schema/schema-nodes.ts'

const asksList = phrases(
  'list files|list the files|list all files|list your files|list my files|show files|show the files|show me the files|show all files|what files|which files|' +
    'files are there|files do you have|files can you read|files can you see|see the files|files exist',
)
const leads = new Set(['in', 'under', 'inside', 'of', 'the', 'folder', 'directory'])

/** Lists and reads files. A name without its folder is looked up, and read if a single file has it. */
export function readFiles(part: Part): Reading | undefined {
  const words = readWords(part.text)
  const optional = part.tools.filter(({ schema }) => listed(schema, 'required').length === 0)
  const [lists, reads] = [findWith(optional, 'path'), findWith(part.tools, 'path', 'offset')]
  const asked = lists && findPhrase(words, asksList)
  if (asked) {
    // "in handbook", "in the folder handbook", "in the handbook folder"
    const rest = words.slice(asked.at + asked.words.length)
    const folder = rest.find(({ lower }, at) => leads.has(rest[at - 1]?.lower ?? '') && !leads.has(lower))?.text
    const input: JsonObject = folder === undefined ? {} : { path: folder }
    return { score: scores.exact, work: () => reported({ tool: lists, input, evidence: ['files'] }, part.text) }
  }
  const quoted = quotedIn(part.text)
  const isQuoted = quoted !== undefined && isPath(quoted) && !quoted.includes('  ')
  const path = isQuoted ? quoted : words.find(({ text }) => isPath(text) && !text.includes('://'))?.text
  if (!reads || path === undefined || part.outlined.includes(path)) return undefined
  return { score: scores.given, work: () => readFile(path, part.text, reads, lists) }
}

function* readFile(name: string, text: string, reads: ToolOffer, lists: ToolOffer | undefined): Work {
  const isBare = !name.includes('/') && lists
  const paths = isBare ? pathsIn(yield { tool: lists, input: {}, evidence: [name] }) : []
  const same = paths.filter((path) => baseOf(path) === name.toLowerCase())
  if (same.length > 1) return unsure(`Which file do you mean: ${same.map((path) => `\`${path}\``).join(' or ')}?`)
  if (same.length === 0 && paths.length > 0) {
    const [near] = closest(name.toLowerCase(), paths.map(baseOf))
    return unsure(`There is no file \`${name}\` among those that I can read.${near === undefined ? '' : ` Did you mean \`${near}\`?`}`)
  }
  const path = same[0] ?? name
  return yield* tried({ tool: reads, input: { path }, evidence: [path] }, text.replace(name, path))
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).toLowerCase()
}

function pathsIn({ text, isError }: ToolMessage): string[] {
  const output = parseJson(text)
  if (isError || !isObject(output) || !Array.isArray(output['files'])) return []
  return output['files'].map((file) => String(isObject(file) ? (file['path'] ?? file['name'] ?? '') : file))
}
