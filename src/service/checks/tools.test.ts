import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tool, ToolListing, ToolMarks } from '../../agent/tool.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { toContainmentFindings, toServerFindings } from './tools.ts'

function listingOf(name: string, marks: ToolMarks): ToolListing {
  const tool = { name, marks } as Tool
  return { name, description: '', status: 'ready', schema: {}, tool }
}

const page = listingOf('web_page', { trust: 'untrusted', private: false, outbound: true })
const sales = listingOf('sales', { trust: 'trusted', private: true, outbound: false })
const held: NonNullable<AgentConfig['containment']> = {
  after_untrusted: 'approve',
  outbound: 'refuse',
  outbound_hosts: [],
  answers: 'keep',
}

test('doctor warns of text of strangers, private data and a way out together, unless containment holds calls', () => {
  const statesOf = (...args: Parameters<typeof toContainmentFindings>) => toContainmentFindings(...args).map(({ state }) => state)
  assert.deepEqual(statesOf({}, [page, sales]), ['warn'])
  assert.deepEqual(statesOf({ containment: { ...held, after_untrusted: 'allow' } }, [page, sales]), ['warn'])
  assert.deepEqual(statesOf({ containment: { ...held } }, [page, sales]), [])
  assert.deepEqual(statesOf({}, [page]), [])
  assert.deepEqual(statesOf({}, [sales]), [])
})

test('doctor warns of servers that are asked about all day, until the entry says what is meant', () => {
  const marks = { trust: 'untrusted', private: true, outbound: true, describedBy: 'mail' } as const
  const listings = [{ ...listingOf('mail__read', marks), entry: 'mail' }, page, sales]
  const textsOf = (entry: object, containment = held, listed: readonly ToolListing[] = listings) =>
    toServerFindings({ containment, tools: [{ name: 'mail', type: 'mcp', ...entry }] }, listed).map(({ text }) => text.slice(0, 30))
  assert.deepEqual(textsOf({}), ['tool mail: nobody has accepted', 'tool mail: its calls are held '])
  assert.deepEqual(textsOf({ outbound: true }), ['tool mail: nobody has accepted'])
  assert.deepEqual(textsOf({}, { ...held, outbound: 'allow' }), ['tool mail: nobody has accepted'])
  const { describedBy: _, ...pinned } = marks
  assert.deepEqual(textsOf({ outbound: false }, held, [{ ...listingOf('mail__read', { ...pinned, outbound: false }), entry: 'mail' }]), [])
  assert.deepEqual(textsOf({}, { ...held, after_untrusted: 'allow', outbound: 'allow' }), [])
})
