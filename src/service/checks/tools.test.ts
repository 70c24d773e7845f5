import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tool, ToolListing, ToolMarks } from '../../agent/tool.ts'
import { toContainmentFindings } from './tools.ts'

function listingOf(name: string, marks: ToolMarks): ToolListing {
  const tool = { name, marks } as Tool
  return { name, description: '', status: 'ready', schema: {}, tool }
}

const page = listingOf('web_page', { trust: 'untrusted', private: false, outbound: true })
const sales = listingOf('sales', { trust: 'trusted', private: true, outbound: false })
const held = { after_untrusted: 'approve', outbound: 'refuse', outbound_hosts: [], answers: 'keep' } as const

test('doctor warns of text of strangers, private data and a way out together, unless containment holds calls', () => {
  const statesOf = (...args: Parameters<typeof toContainmentFindings>) => toContainmentFindings(...args).map(({ state }) => state)
  assert.deepEqual(statesOf({}, [page, sales]), ['warn'])
  assert.deepEqual(statesOf({ containment: { ...held, after_untrusted: 'allow', outbound_hosts: [], answers: 'keep' } }, [page, sales]), [
    'warn',
  ])
  assert.deepEqual(statesOf({ containment: { ...held, outbound_hosts: [], answers: 'keep' } }, [page, sales]), [])
  assert.deepEqual(statesOf({}, [page]), [])
  assert.deepEqual(statesOf({}, [sales]), [])
})
