import assert from 'node:assert/strict'
import { memoryUsage, threadCpuUsage } from 'node:process'
import { test } from 'node:test'
import { workSince } from '../../../test/fixtures/work-meter.ts'
import { connectServer, rawConfig, until } from './mcp-fixture.ts'

/** The longest time, in milliseconds, that the event loop was blocked. */
async function longestWork(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let since = threadCpuUsage()
  const timer = setInterval(() => {
    longest = Math.max(longest, threadCpuUsage(since).user / 1000)
    since = threadCpuUsage()
  }, 5)
  await work()
  clearInterval(timer)
  return longest
}

for (const fault of ['huge result', 'line without end']) {
  test(`a ${fault} ends the connection at the size limit, and the server is tried again`, async (t) => {
    const { call, group } = await connectServer(t, { config: rawConfig(fault), timing: { retryMs: () => 200 } })
    const before = memoryUsage().rss
    const { isError, text } = await call('look')
    assert.equal(isError, true)
    assert.match(text, /The server sent a message of more than 32 MB\./)
    assert.match(group.unavailableReason?.() ?? '', /more than 32 MB/)
    assert.ok(memoryUsage().rss - before < 300 * 2 ** 20)
    await until(() => group.unavailableReason?.() === undefined)
  })
}

test('a flood of notifications is throttled, and the service stays responsive', async (t) => {
  const { call, group } = await connectServer(t, { config: rawConfig('notifications'), timeoutMs: 1500, timing: { listMs: 500 } })
  const before = memoryUsage().rss
  const longest = await longestWork(() => call('look'))
  assert.ok(longest < 500, `${longest} ms`)
  assert.ok(memoryUsage().rss - before < 150 * 2 ** 20)
  // The flooding server does not answer other requests either.
  await until(() => group.unavailableReason?.() !== undefined)
  assert.equal(group.unavailableReason?.(), 'The server did not answer in time.')
})

test('a call to a server that sends byte by byte ends with its timeout', async (t) => {
  const { call } = await connectServer(t, { config: rawConfig('drips'), timeoutMs: 300 })
  const startedAt = performance.now()
  assert.match((await call('look')).text, /did not finish within 0\.3 s/)
  assert.ok(performance.now() - startedAt < 5000)
})

test('a server with an endless or too long tool list is refused', async (t) => {
  await assert.rejects(connectServer(t, { config: rawConfig('endless pages') }), /The list of tools has more than 64 pages\./)
  await assert.rejects(connectServer(t, { config: rawConfig('huge list') }), /The list of tools is longer than 8 MB\./)
})

test('from too many tools, an administrator can select some', async (t) => {
  const config = rawConfig('many tools')
  await assert.rejects(
    connectServer(t, { config }),
    /The server has 2000 tools, more than the limit of 500; select the tools to use with include\./,
  )
  const { group } = await connectServer(t, { config: { ...config, include: ['t1*9', 't77'], exclude: ['t1?9', 't11*'] } })
  const names = group.tools().map(({ name }) => name)
  assert.ok(names.includes('s__t19') && names.includes('s__t77') && names.includes('s__t1009') && !names.includes('s__t119'))
})

test('an invalid schema disables its own tool with a reason, and no other', async (t) => {
  const { group, tool } = await connectServer(t, { config: rawConfig('bad schemas') })
  assert.deepEqual(
    group.tools().map(({ name }) => name),
    ['s__good', 's__slow', 's__chain'],
  )
  assert.equal(tool('good').description, 'The tool good.')
  const reasons = Object.fromEntries((group.refused?.() ?? []).map(({ name, reason }) => [name, reason]))
  const expected: Record<string, RegExp> = {
    s__draft: /unknown dialect/,
    s__elsewhere: /refers to another document/,
    s__huge: /too large/,
    s__deep: /./,
    s__wrong: /cannot be used: schema is invalid/,
    s__list: /not of type object/,
    s__none: /has no input schema/,
    's__bad name': /characters that are not allowed/,
    's__as a task': /can only run as a task/,
  }
  assert.deepEqual(Object.keys(reasons), Object.keys(expected))
  for (const [name, reason] of Object.entries(expected)) assert.match(reasons[name] ?? '', reason)
})

test('an input whose check by a hostile schema would never end is refused in time', async (t) => {
  const { tool } = await connectServer(t, { config: rawConfig('bad schemas') })
  const work = workSince()
  assert.match((await tool('slow').check({ a: `${'a'.repeat(60)}!` })) ?? '', /could not be checked within 250 ms/)
  assert.match((await tool('chain').check({ a: 1 })) ?? '', /could not be checked within 250 ms/)
  assert.equal(tool('slow').check({ a: 'aaa' }), undefined)
  assert.ok(work() < 5000)
})
