import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runAddress } from './run-address.ts'

const run = { request_id: 'a:b', issuer: 'https://id.example', sub: 'ann & bob' }

test("the address of one's own run is its request id", () => {
  assert.equal(runAddress(run, { issuer: run.issuer, sub: run.sub }), '/runs/a%3Ab')
})

test("the address of another caller's run names the owner", () => {
  assert.equal(runAddress(run, { issuer: run.issuer, sub: 'ann' }), '/runs/a%3Ab?issuer=https%3A%2F%2Fid.example&sub=ann+%26+bob')
})
