import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import type { SkillSet } from '../../configuration/skills/skill.ts'
import { createAgentFiles } from '../agent-files.ts'
import { readSkillFolders } from './skill-folders.ts'

const skillOf = (name: string, more = '') => `---\nname: ${name}\ndescription: Does ${name}.\n${more}---\nDo ${name}.\n`

async function projectOf(t: TestContext, files: Record<string, string | Uint8Array>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-skills-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeAll(folder, files)
  return folder
}

async function writeAll(folder: string, files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), content)
  }
}

type FoundSkills = Pick<SkillSet, 'skills' | 'faults'>

function read(configDir: string, ...patterns: string[]): Promise<FoundSkills> {
  return readSkillFolders(
    configDir,
    (patterns.length > 0 ? patterns : ['skills/*']).map((pattern) => ({ path: pattern })),
  )
}

function reasonsOf({ skills: [skill] }: FoundSkills): Record<string, string> {
  return Object.fromEntries([...skill!.files].flatMap(([name, file]) => ('reason' in file ? [[name, file.reason]] : [])))
}

test('each folder of a pattern is a skill; files and hidden folders are none', async (t) => {
  const folder = await projectOf(t, {
    'skills/b/SKILL.md': skillOf('b'),
    'skills/a/SKILL.md': skillOf('a'),
    'skills/README.md': 'Ours.',
    'skills/.git/SKILL.md': skillOf('git'),
    'more/c/SKILL.md': skillOf('c'),
  })
  const { skills, faults } = await read(folder, './skills/*', 'more/c')
  assert.deepEqual([skills.map(({ name }) => name), faults], [['c', 'a', 'b'], []])
})

test('a faulty folder is told with file and line, and the others are skills', async (t) => {
  const folder = await projectOf(t, {
    'skills/good/SKILL.md': skillOf('good'),
    'skills/bad/SKILL.md': skillOf('other'),
    'skills/empty/notes.md': 'Nothing.',
    'skills/binary/SKILL.md': Buffer.from([0x2d, 0x2d, 0x2d, 0, 1]),
    'again/good/SKILL.md': skillOf('good'),
  })
  const { skills, faults } = await read(folder, 'skills/*', 'again/*', 'none/*')
  assert.deepEqual(
    skills.map(({ instructions }) => instructions),
    ['Do good.'],
  )
  assert.deepEqual(faults, [
    'skills[2].path: there is no folder none/*',
    'skills/bad/SKILL.md:2 name: must be the name of the folder, "bad"',
    'skills/binary/SKILL.md: is not a text',
    'skills/empty: has no SKILL.md',
    'skills/good: another folder has a skill of the same name',
  ])
})

test('the hash is over the names and bytes of all files, as sha256sum makes it, and not over hidden files', async (t) => {
  const files = { 'SKILL.md': skillOf('a'), 'references/x.md': 'X', 'scripts/y.py': 'print(1)', 'data.bin': Buffer.from([0, 255, 254]) }
  const inside = (from: object) => Object.fromEntries(Object.entries(from).map(([name, content]) => [`skills/a/${name}`, content]))
  const folder = await projectOf(t, inside(files))
  const hashOf = async () => (await read(folder)).skills[0]!.hash
  const first = await hashOf()
  const command = "find . -type f -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c 1-64"
  assert.equal(execFileSync('sh', ['-c', command], { cwd: path.join(folder, 'skills/a'), encoding: 'utf8' }).trim(), first)
  await writeAll(folder, { 'skills/a/.DS_Store': 'x', 'skills/a/.git/config': 'y' })
  assert.equal(await hashOf(), first)
  await writeAll(folder, { 'skills/a/data.bin': Buffer.from([0, 255, 253]) })
  const changed = await hashOf()
  await rename(path.join(folder, 'skills/a/references'), path.join(folder, 'skills/a/refs'))
  assert.equal(new Set([first, changed, await hashOf()]).size, 3)
})

test('links are followed inside of the folder alone, and pipes, binaries and large files are never read', async (t) => {
  const folder = await projectOf(t, {
    'secret.txt': 'The key.',
    'skills/a/SKILL.md': skillOf('a'),
    'skills/a/..data/real.md': 'Real.',
    'skills/a/nul.txt': 'a\0b',
    'skills/a/latin.txt': Buffer.from([0xe4]),
    'skills/a/large.txt': Buffer.alloc(10_000_000, 'x'),
  })
  const inside = (name: string) => path.join(folder, 'skills/a', name)
  await symlink('..data/real.md', inside('real.md'))
  await symlink('../../secret.txt', inside('secret.txt'))
  await symlink('/etc/passwd', inside('passwd'))
  await symlink('../..', inside('up'))
  await symlink('.', inside('loop'))
  await symlink('nothing', inside('gone'))
  execFileSync('sh', ['-c', 'mkfifo "$0"', inside('pipe')])
  const set = await read(folder)
  assert.deepEqual(set.faults, [])
  assert.deepEqual(reasonsOf(set), {
    gone: 'is a link to nothing',
    'large.txt': 'has 10000000 bytes; files of up to 262144 can be read',
    'latin.txt': 'is not a text',
    loop: 'is a link to a folder around itself',
    'nul.txt': 'is not a text',
    passwd: 'is a link that leads out of the folder',
    pipe: 'is not a file',
    'secret.txt': 'is a link that leads out of the folder',
    up: 'is a link that leads out of the folder',
  })
  assert.deepEqual(set.skills[0]!.files.get('real.md'), { text: 'Real.' })
  assert.ok(!JSON.stringify([...set.skills[0]!.files]).includes('The key.'))
})

test('a folder behind a link may not lead out of the folder of agent.yaml', async (t) => {
  const outside = await projectOf(t, { 'evil/SKILL.md': skillOf('evil') })
  const folder = await projectOf(t, { 'skills/a/SKILL.md': skillOf('a'), 'store/b/SKILL.md': skillOf('b') })
  await symlink(path.join(outside, 'evil'), path.join(folder, 'skills/evil'))
  await symlink('../store/b', path.join(folder, 'skills/b'))
  const { skills, faults } = await read(folder)
  assert.deepEqual([skills.map(({ name }) => name), faults], [['a', 'b'], ['skills/evil: leads out of the folder of agent.yaml']])
})

test('a folder beyond the limits is refused as a whole', async (t) => {
  const many = Object.fromEntries(Array.from({ length: 256 }, (_, n) => [`skills/many/${n}.md`, 'x']))
  const folder = await projectOf(t, {
    ...many,
    'skills/many/SKILL.md': skillOf('many'),
    'skills/big/SKILL.md': skillOf('big'),
    'skills/big/a.bin': Buffer.alloc(10_485_761),
    [`skills/deep/${'d/'.repeat(9)}x.md`]: 'x',
    'skills/deep/SKILL.md': skillOf('deep'),
    'skills/line/a\nb': 'x',
    'skills/line/SKILL.md': skillOf('line'),
  })
  assert.deepEqual((await read(folder)).faults, [
    'skills/big: has more than 10485760 bytes',
    'skills/deep: has more than 8 folders within folders',
    'skills/line: has a file whose name has control characters',
    'skills/many: has more than 256 files',
  ])
})

test('more than 100 skills are told, and the first 100 are used', async (t) => {
  const names = Array.from({ length: 103 }, (_, n) => `s${String(n).padStart(3, '0')}`)
  const folder = await projectOf(t, Object.fromEntries(names.map((name) => [`skills/${name}/SKILL.md`, skillOf(name)])))
  const { skills, faults } = await read(folder)
  assert.equal(skills.length, 100)
  assert.equal(faults.length, 3)
  assert.match(faults[0]!, /: there are more than 100 skills$/)
})

test('a change is reported once the files have stayed the same, also an exchanged link of a ConfigMap', async (t) => {
  const folder = await projectOf(t, { 'skills/a/..one/SKILL.md': skillOf('a'), 'skills/a/..two/SKILL.md': skillOf('a', 'license: MIT\n') })
  const inside = (name: string) => path.join(folder, 'skills/a', name)
  await symlink('..one', inside('..data'))
  await symlink('..data/SKILL.md', inside('SKILL.md'))
  const files = createAgentFiles({ configDir: folder, pollMs: 20 })
  const config = { skills: [{ path: 'skills/*' }], tools: [] }
  const before = await files.read(config)
  const changed = Promise.withResolvers<void>()
  const watching = files.watch(config, before.mark, changed.resolve)
  t.after(() => watching.close())
  await symlink('..two', inside('..new'))
  await rename(inside('..new'), inside('..data'))
  await changed.promise
  const after = await files.read(config)
  assert.notEqual(after.skills[0]!.hash, before.skills[0]!.hash)
})
