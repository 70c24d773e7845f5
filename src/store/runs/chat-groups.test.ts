import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChatGroups, type StoreGroup } from './chat-groups.ts'
import { maxRowLength, toRowJson } from './chat-groups.ts'

/** Stores chats by groups; a chat is its text. `groups` has the texts of each group, `alone` those of single chats. */
function setup(store: StoreGroup<string>) {
  const groups: string[][] = []
  const alone: string[] = []
  const join = createChatGroups<string>(async (tenant, rows, size) => {
    const texts = (JSON.parse(rows) as { text: string }[]).map(({ text }) => text)
    groups.push(texts)
    return store(tenant, rows, size)
  })
  const add = (text: string, { tenant = 't', key = text } = {}) =>
    join(tenant, {
      row: toRowJson({ text })!,
      keys: [key],
      alone: async () => (alone.push(text), { kind: 'done', result: `${text} alone` }),
    })
  return { groups, alone, add }
}

const storeAll: StoreGroup<string> = async (_, rows) =>
  new Map((JSON.parse(rows) as { text: string }[]).map(({ text }, position) => [position, text]))

test('chats with a common key are in different groups, and a single chat is stored alone', async () => {
  const { groups, alone, add } = setup(storeAll)
  const attempts = await Promise.all([add('a'), add('b', { key: 'a' }), add('c'), add('d', { key: 'a' })])
  assert.deepEqual([groups, alone], [[['a', 'c']], ['b', 'd']])
  assert.deepEqual(attempts[1], { kind: 'done', result: 'b alone' })
})

test('chats that arrive while a group is stored form the next group', async () => {
  const stored = Promise.withResolvers<void>()
  const { groups, add } = setup(async (tenant, rows, size) => {
    if (groups.length === 1) await stored.promise
    return storeAll(tenant, rows, size)
  })
  const first = [add('a'), add('b')]
  await new Promise((resolve) => setImmediate(resolve))
  const second = [add('c'), add('d'), add('e')]
  stored.resolve()
  await Promise.all([...first, ...second])
  assert.deepEqual(groups, [
    ['a', 'b'],
    ['c', 'd', 'e'],
  ])
})

test('a group that is not stored for long holds up neither the next group nor another tenant', async () => {
  const stored = Promise.withResolvers<void>()
  const { add } = setup(async (tenant, rows, size) => {
    if (rows.includes('slow')) await stored.promise
    return storeAll(tenant, rows, size)
  })
  const slow = [add('slow 1'), add('slow 2')]
  await new Promise((resolve) => setImmediate(resolve))
  const others = [add('a'), add('b'), add('c', { tenant: 'u' }), add('d', { tenant: 'u' })]
  assert.equal((await Promise.all(others)).length, 4)
  stored.resolve()
  assert.equal((await Promise.all(slow)).length, 2)
})

test('a chat without a result is unchanged', async () => {
  const { add } = setup(async () => new Map([[1, 'b']]))
  assert.deepEqual(await Promise.all([add('a'), add('b')]), [{ kind: 'unchanged' }, { kind: 'done', result: 'b' }])
})

test('many chats make several groups of limited length', async () => {
  const { groups, add } = setup(storeAll)
  const long = 'x'.repeat(maxRowLength - 100)
  await Promise.all(Array.from({ length: 100 }, (_, n) => add(`${n}`)))
  await Promise.all(Array.from({ length: 20 }, (_, n) => add(`${n} ${long}`)))
  assert.deepEqual(
    groups.map(({ length }) => length),
    [64, 36, 16, 4],
  )
})

test('a row with NUL, with half a surrogate pair, or that is too long has no JSON', () => {
  const texts = ['nul \0', 'half \uD83D', 'half \uDE00', 'x'.repeat(maxRowLength)]
  assert.deepEqual(
    texts.map((text) => toRowJson({ text })),
    Array(4).fill(undefined),
  )
  assert.equal(toRowJson({ text: 'pair \u{1F600}' }), '{"text":"pair \u{1F600}"}')
})
