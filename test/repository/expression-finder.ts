import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseSync } from 'oxc-parser'

/** A regular expression of the source: a literal, or the place of a `RegExp` that is made when the program runs. */
export interface FoundExpression {
  /** Relative to the folder. */
  file: string
  line: number
  /** Undefined where the text is not known before the program runs. */
  regex?: { source: string; flags: string }
}

/** All regular expressions of a folder's TypeScript, tests and fixtures apart. */
export function findExpressions(folder: string): FoundExpression[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return files.filter((file) => !/(\.test|fixture)\.ts$/.test(file)).flatMap((file) => findIn(folder, file))
}

interface Node {
  type: string
  start: number
  regex?: { pattern: string; flags: string }
  callee?: { name?: string }
}

function findIn(folder: string, file: string): FoundExpression[] {
  const text = readFileSync(path.join(folder, file), 'utf8')
  const found: FoundExpression[] = []
  function visit(value: unknown): void {
    if (typeof value !== 'object' || value === null) return
    const node = value as Node
    const line = () => text.slice(0, node.start).split('\n').length
    if (node.regex) found.push({ file, line: line(), regex: { source: node.regex.pattern, flags: node.regex.flags } })
    const isMade = (node.type === 'NewExpression' || node.type === 'CallExpression') && node.callee?.name === 'RegExp'
    if (isMade) found.push({ file, line: line() })
    Object.values(value).forEach(visit)
  }
  visit(parseSync(file, text).program)
  return found
}
