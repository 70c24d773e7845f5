import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runTool } from '../../agent/run-tool.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { Skill, SkillFile } from '../../configuration/skills/skill.ts'
import { createSkillTools, toAgentSkills } from './skill-tools.ts'

function skillOf(name: string, traits: Partial<Skill> = {}): Skill {
  return { name, description: `Does ${name}.`, instructions: `Do ${name}.`, files: new Map(), hash: '0', ...traits }
}

const promptOf = (skills: readonly Skill[]) => toAgentSkills({ skills, modules: {}, faults: [], mark: '' }).prompt

async function callOf(skills: readonly Skill[], name: string, input: JsonObject) {
  const tool = createSkillTools(skills).find((candidate) => candidate.name === name)!
  const fault = await tool.check(input)
  if (fault) return { isError: true, output: fault, text: fault }
  return runTool(tool, input, {
    context: {} as never,
    keepArtifact: async () => assert.fail(),
    signal: new AbortController().signal,
    now: () => 0,
  })
}

test('the prompt has a line for each skill, in the order of names whatever the order of folders', () => {
  const skills = [skillOf('b'), skillOf('a')]
  assert.match(promptOf(skills), /load_skill[^\n]*\n- a: Does a\.\n- b: Does b\.$/)
  assert.equal(promptOf(skills), promptOf(skills.toReversed()))
  assert.equal(promptOf([]), '')
  assert.deepEqual(createSkillTools([]), [])
  assert.deepEqual(
    createSkillTools(skills).map(({ name }) => name),
    ['load_skill', 'read_skill_file'],
  )
})

test('descriptions that take more than 4,000 characters are found with find_skills', async () => {
  const skills = Array.from({ length: 100 }, (_, n) => skillOf(`s${n}`, { description: `Number${n}x. ${'y'.repeat(1000)}` }))
  const prompt = promptOf(skills)
  assert.ok(prompt.length <= 4000, String(prompt.length))
  assert.match(prompt, /find_skills/)
  const { output } = await callOf(skills, 'find_skills', { query: 'the work of number77x' })
  assert.deepEqual(
    (output as any).skills.map(({ name }: any) => name),
    ['s77'],
  )
  assert.equal((output as any).total, 100)
})

test('load_skill gives the instructions and lists the files; names that are no tools are left out of the list', async () => {
  const files = new Map<string, SkillFile>([
    ['SKILL.md', { text: 'All.' }],
    ['a.md', { text: 'A.' }],
    ['b.bin', { reason: 'is not a text' }],
  ])
  const { text } = await callOf([skillOf('a', { files, allowedTools: ['look', 'Bash(git:*)', 'x]'] })], 'load_skill', { name: 'a' })
  assert.equal(text, '{"skill":"a","allowed_tools":["look"],"files":["a.md","b.bin"],"instructions":"Do a."}')
})

test('instructions of the greatest length are given whole', async () => {
  const { output } = await callOf([skillOf('a', { instructions: '\n'.repeat(49_990) + 'The end.' })], 'load_skill', { name: 'a' })
  assert.match((output as any).instructions, /The end\.$/)
})

test('an unknown skill, and a path that is no file of the skill, are errors', async () => {
  const skills = [
    skillOf('a', {
      files: new Map([
        ['SKILL.md', { text: 'All.' }],
        ['b.bin', { reason: 'is not a text' }],
      ]),
    }),
  ]
  const messageOf = async (tool: string, input: JsonObject) => {
    const { isError, output, text } = await callOf(skills, tool, input)
    assert.equal(isError, true, text)
    return typeof output === 'string' ? output : String((output as JsonObject)['error'])
  }
  assert.match(await messageOf('load_skill', { name: '__proto__' }), /There is no skill "__proto__"\. The skills are: a\./)
  for (const path of ['../a/SKILL.md', '/etc/passwd', './SKILL.md', 'x/../SKILL.md', 'SKILL.md\0', '..'])
    assert.match(await messageOf('read_skill_file', { name: 'a', path }), /has no file/, path)
  assert.match(await messageOf('read_skill_file', { name: 'a', path: 'b.bin' }), /b\.bin cannot be read: the file is not a text/)
  assert.match(await messageOf('read_skill_file', { name: 'a', path: 'SKILL.md', offset: 5 }), /offset 5 is after the end/)
  assert.match(await messageOf('read_skill_file', { name: 'a', path: 'x'.repeat(5000) }), /path must NOT have more than 4096/)
  assert.match(await messageOf('read_skill_file', { name: 'a' }), /path is required/)
})

test('a long file is read page by page', async () => {
  const text = Array.from({ length: 9000 }, (_, n) => `line ${n}\n`).join('')
  const skills = [skillOf('a', { files: new Map([['long.md', { text }]]) })]
  let whole = ''
  for (let offset: number | undefined = 0; offset !== undefined;) {
    const { output, text: shown } = await callOf(skills, 'read_skill_file', { name: 'a', path: 'long.md', offset })
    assert.ok(shown.length <= 20_000)
    whole += (output as any).text
    offset = (output as any).next_offset
  }
  assert.equal(whole, text)
})

test('the tools of skills read trusted text of the operator, and reach nothing outside', () => {
  for (const { effect, marks } of createSkillTools([skillOf('a')]))
    assert.deepEqual([effect, marks], ['read', { trust: 'trusted', private: false, outbound: false }])
})
