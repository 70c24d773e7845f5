import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { findExpressions, type FoundExpression } from './expression-finder.ts'
import { findSlowText } from './expression-growth.ts'

const folder = fileURLToPath(new URL('../../src', import.meta.url))
const demoModel = fileURLToPath(new URL('../../demo-model', import.meta.url))
/** Files of `demo-model/` are named with their folder, files of `src/` without. */
const found = [...findExpressions(folder), ...findExpressions(demoModel).map((each) => ({ ...each, file: `demo-model/${each.file}` }))]
const pathOf = (file: string) => path.join(file.startsWith('demo-model/') ? path.dirname(demoModel) : folder, file)
const isSource = (frame: string) => frame.includes(folder) || frame.includes(demoModel)

const part = 'a part of a question, at most 2,400 characters (`readMessage`, `maxOrder`)'
/** Expressions that may take more than linear time, and why their text is short. By file and source. */
const bounded: Record<string, string> = {
  'files/patterns.ts \\[[!^]?\\]?(?:\\[:[a-z]+:\\]|[^\\]])*\\]|[^]': 'a part of a pattern up to its last bracket, so that each class ends',
  'cli/chat/markdown-stream.ts \\*\\*(?=\\S)(.+?)(?<=\\S)\\*\\*|`([^`]+)`':
    'a line on the terminal of one person, in a process of their own',
  'tools/chart/render.ts <[^>]*>': 'SVG that Vega wrote, in which each tag ends',
  'tools/module/definition.ts (?:(file:\\/\\/[^\\s()]+?)|(?:^| |\\()(\\/[^()]+?)):(\\d+)(?::\\d+)?\\)?$':
    'a line of a stack, in the process of a module, which is ended when it takes too long',
  'tools/web/body-output.ts <meta[^>]+charset\\s*=\\s*["\']?([\\w-]+)': 'the first 1,024 bytes',
  'demo-model/question.ts "[^"\\n]*"|“[^”\\n]*”|`[^`\\n]*`': part,
  'demo-model/question.ts \\b(of|from|to|by|with|double|half|twice|add|subtract|multiply|divide)\\b.*\\b(that|it|this|the (result|total|sum|answer))\\b|\\b(that|it|the (result|total|answer))\\b (plus|minus|times|divided|multiplied|squared)':
    part,
  'demo-model/intents.ts \\b(?:know|remember|learned|learnt)\\b[^?.!]*\\b(?:about|of) me\\b|^\\W*who am i\\b':
    'a question of at most 600 characters',
  'demo-model/sql/tables.ts ^"?(.+?)"?\\s+([A-Z][A-Z0-9_]*(?: [A-Z]+)*(?:\\([^()]*\\))?(?:\\[\\d*\\])*)(?:\\s+\\((.*)\\))?$':
    'a column in the description of a tool; descriptions are bounded',
}

/** The same for expressions that a file makes of parts. */
const boundedParts: Record<string, string> = {
  'demo-model/expression.ts': part,
  'demo-model/question.ts': part,
  'demo-model/sql/calendar.ts': part,
}

/** Files in which expressions are made of a text that is known only when they run, and why that is bounded. */
const madeLater: Record<string, string> = {
  'configuration/redact.ts': 'the linear pattern of references',
  'configuration/schema-walk.ts': 'patterns of the schema of the configuration itself',
  'evals/scorers/linear-pattern.ts': 'the syntax of a pattern of at most 1,000 characters, and single characters',
  'files/context-text.ts': 'a literal around a mark of letters; a lazy text that is looked through once',
  'http/server/other-methods.ts': 'the paths of routes, matched with the paths of other routes when the service starts',
  'json/schema/ajv.ts': 'patterns of a server or a caller, which the guarded compiler checks in a context with a time limit',
  'demo-model/arguments.ts': 'the name of a parameter, and one value behind it',
  'tools/chart/expressions.ts': 'in the process of charts, which is ended when it takes too long',
  'tools/chart/functions.ts': 'in the process of charts, which is ended when it takes too long',
  'tools/module/definition.ts': "the author's own file, in the process of a module",
}

test('the measure finds quadratic and exponential expressions, and passes linear ones', () => {
  for (const slow of [
    '^[-+]?(\\d+\\.?\\d*|\\.\\d+)(e[-+]?\\d+)?$',
    '[\\s.]+$',
    '!\\[[^\\]]*\\]\\(data:[^)]*\\)',
    '^(a+)+$',
    '^(\\w|\\d)*$',
    '<meta[^>]+x',
  ]) {
    assert.ok(findSlowText(slow, 'g'), slow)
  }
  for (const linear of ['^[-+]?(\\d+(\\.\\d*)?|\\.\\d+)(e[-+]?\\d+)?$', '(?<![\\s.])[\\s.]+$', '^\\d+$', 'a.*b?', '\\s+']) {
    assert.equal(findSlowText(linear, 'g'), undefined, linear)
  }
})

test('every regular expression takes time in proportion to its text, or its text is bounded', async () => {
  const literals = found.flatMap(({ file, line, regex }) => (regex ? [{ file, line, ...regex }] : []))
  const all = [...literals, ...(await madeAtImport()).filter(({ file }) => boundedParts[file] === undefined)]
  assert.ok(all.length > 600)
  const checked = new Set<string>()
  const slow: string[] = []
  for (const { file, line, source, flags } of all) {
    const isKnown = bounded[`${file} ${source}`] !== undefined || checked.has(`/${source}/${flags}`)
    checked.add(`/${source}/${flags}`).add(`${file} ${source}`)
    const text = isKnown ? undefined : findSlowText(source, flags)
    if (text) slow.push(`${file}:${line} /${source}/${flags} on ${text}`)
  }
  assert.deepEqual(slow, [])
  const stale = Object.keys(bounded).filter((name) => !checked.has(name))
  assert.deepEqual(stale, [])
})

test('an expression that is made later stands in a file that says what bounds it', async () => {
  const early = new Set((await madeAtImport()).map(({ file, line }) => `${file}:${line}`))
  const late = found.filter(({ file, line, regex }) => !regex && !early.has(`${file}:${line}`))
  assert.deepEqual([...new Set(late.map(({ file }) => file))].sort(), Object.keys(madeLater).sort())
})

interface Made extends FoundExpression {
  source: string
  flags: string
}

let making: Promise<Made[]> | undefined

/** Expressions that files make of parts while they are imported. */
function madeAtImport(): Promise<Made[]> {
  return (making ??= importAll())
}

async function importAll(): Promise<Made[]> {
  const made: Made[] = []
  const original = RegExp
  const record = (target: RegExpConstructor, args: [string, string?]) => {
    const regex = new target(...args)
    const [, file, line] = /\/(?:src\/|(?=demo-model\/))([^:]+\.ts):(\d+)/.exec(new Error().stack?.split('\n').find(isSource) ?? '') ?? []
    if (file) made.push({ file, line: Number(line), source: regex.source, flags: regex.flags })
    return regex
  }
  globalThis.RegExp = new Proxy(original, { construct: record as never, apply: (target, _, args) => record(target, args as [string]) })
  try {
    for (const file of new Set(found.filter(({ regex }) => !regex).map((each) => each.file))) await import(pathToFileURL(pathOf(file)).href)
  } finally {
    globalThis.RegExp = original
  }
  return made
}
