import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { readYaml } from '../yaml-source.ts'
import { editYaml } from './edit-yaml.ts'
import { mergePatch, type ConfigData } from './merge.ts'

const sample = await readFile(new URL('../../../samples/agent.yaml', import.meta.url), 'utf8')

function edit(text: string, patch: ConfigData): string {
  const before = readYaml(text).value as ConfigData
  const after = mergePatch(before, patch) as ConfigData
  const edited = editYaml(text, before, after)
  assert.deepEqual(readYaml(edited).value, after)
  return edited
}

/** Lines of the first text that are missing in the second text. */
function linesOf(text: string, without: string): string[] {
  const others = without.split('\n')
  return text.split('\n').filter((line) => !others.includes(line))
}

function changedLines(before: string, after: string): { gone: string[]; come: string[] } {
  return { gone: linesOf(before, after), come: linesOf(after, before) }
}

test('a value is replaced in place; the comment and all other lines stay unchanged', () => {
  assert.deepEqual(changedLines(sample, edit(sample, { max_execution_time: 60, limits: { max_session_wait: 5 } })), {
    gone: [
      'max_execution_time: 300  # seconds of one chat',
      '  max_session_wait: 30          # seconds that a chat waits while its session is busy',
    ],
    come: [
      'max_execution_time: 60  # seconds of one chat',
      '  max_session_wait: 5          # seconds that a chat waits while its session is busy',
    ],
  })
  const model = edit(sample, { llms: { primary: { provider: 'openai', model: 'm', api_key: '${K}' } } })
  assert.deepEqual(changedLines(sample, model), {
    gone: ['  primary: { provider: embedded, model: rules-1 }'],
    come: ['  primary: { provider: openai, model: m, api_key: "${K}" }'],
  })
})

test('elements of a list are changed, removed and added separately', () => {
  const { tools } = readYaml(sample).value as { tools: { name: string }[] }
  const changed = tools
    .filter(({ name }) => name !== 'current_time')
    .map((tool) => (tool.name === 'handbook' ? { ...tool, config: { paths: ['a/**', 'b/**'] } } : tool))
  const edited = edit(sample, { tools: [...changed, { name: 'more', type: 'read_file', config: { paths: ['x'] } }] })
  const { gone, come } = changedLines(sample, edited)
  assert.deepEqual(gone, ['  - name: current_time', '    config: { paths: ["handbook/**"] }'])
  assert.deepEqual(come, ['    config: { paths: [a/**, b/**] }', '  - name: more', '    type: read_file', '      paths:', '        - x'])
  assert.ok(edited.includes('# SQL over files'))
})

test('keys are added at the end and removed with the line; long texts are written as blocks', () => {
  const withoutLast = sample.slice(0, sample.indexOf('\n# Roles of access keys'))
  const edited = edit(withoutLast, {
    description: null,
    instructions: 'One.\nTwo: "x"\n',
    limits: { reconnect_grace: 9 },
    access: { rate_limits: { user: { concurrent_runs: 2 } } },
  })
  assert.doesNotMatch(edited, /^description/m)
  assert.ok(edited.startsWith('# The agent that'))
  assert.match(edited, /^instructions: \|\n {2}One\.\n {2}Two: "x"\n\n# Shown to people/m)
  assert.match(edited, / # seconds that a chat waits.*\n {2}reconnect_grace: 9\n/)
  assert.match(edited, /\naccess:\n {2}rate_limits:\n {4}user:\n {6}concurrent_runs: 2\n$/)
})

test('texts that YAML would read as other types stay texts', () => {
  for (const value of [
    'yes',
    '5',
    '',
    ' x ',
    'a: b',
    '# no comment',
    '- x',
    '*x',
    '"q',
    "it's",
    'a\u0000b',
    '\u2028',
    'null',
    '${X}',
    '{a}',
    '😀',
    'x'.repeat(500),
  ]) {
    edit('name: x  # c\ndescription: "y"\n', { name: value, description: value })
    edit('llms: {primary: {provider: embedded, model: m}}\n', { llms: { primary: { model: value } } })
  }
})

test('files of every style have the expected content after an edit', () => {
  const texts = [
    '',
    '# nothing but a comment\n',
    '{}',
    '{name: x, tools: [{name: calculator}]}',
    '---\nname: x\n...\n',
    'name:\ntools:\n- name: calculator\n  # why\n- name: current_time',
    'base: &m {provider: openai, model: m}\nllms:\n  primary: *m\n  fallback:\n  - *m\n',
    'llms:\n    primary: &m\n        provider: openai\n        model: m\n    small: *m\nname: >\n  folded\n  text\n\nid: "x"\n',
    'tools:\r\n  - name: calculator\r\nname: x\r\n',
    '? name\n: x\n"id": y\n',
    'name: |2\n    indented\n\n\n# end\n',
    'tools: # all\n  # first\n  - # odd\n    name: calculator\n  -\n    name: current_time\n',
  ]
  const patches: ConfigData[] = [
    { name: 'new' },
    { name: null, id: null },
    { id: 'n', tools: [{ name: 'current_time' }, { name: 'calculator', timeout: 5 }] },
    { tools: [] },
    { tools: [{ name: 'calculator', config: {} }] },
    { llms: { primary: { model: 'other' } } },
    { llms: null, base: null, memory: { recall: 3 } },
    { description: 'a\n\nb\n' },
  ]
  for (const text of texts) for (const patch of patches) edit(text, patch)
})

test('changing an anchored value does not change the values of aliases', () => {
  const text = 'llms:\n  primary: &m\n    provider: openai # p\n    model: m\n  fallback: [*m]\n'
  const edited = edit(text, { llms: { primary: { model: 'other' } } })
  assert.match(edited, /# p/)
})
