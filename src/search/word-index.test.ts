import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toQueryTerms, toTerms } from './terms.ts'
import { PassageIndex } from './word-index.ts'

test('terms are compared without case, accents and plural endings', () => {
  assert.deepEqual(toTerms('Policies, the Zürich OFFICES; glass status bus 2026'), [
    'policy',
    'the',
    'zurich',
    'office',
    'glass',
    'status',
    'bus',
    '2026',
  ])
  assert.deepEqual(toTerms('年次休暇'), ['年次', '次休', '休暇'])
  assert.deepEqual(toQueryTerms('How many days of leave do I have, leave?'), ['day', 'leave'])
  assert.deepEqual(toQueryTerms('who are you'), ['who', 'are', 'you'])
})

test('the most relevant passage comes first', () => {
  const index = new PassageIndex()
  const travel = index.add('Travel', 'Trains before planes. Hotels up to 150 a night.')
  const leave = index.add('Annual leave', 'Everybody has 25 days.')
  const office = index.add(
    'Office',
    'Please leave the kitchen clean when you leave. It is open all night, every night of the year, and on all days.',
  )
  const search = (query: string) => index.search(query, [travel, leave, office], 10).map(({ id }) => id)
  assert.deepEqual(search('annual leave'), [leave, office])
  assert.deepEqual(search('hotel costs'), [travel])
  assert.deepEqual(search('travelling'), [travel])
  assert.deepEqual(search('unknown'), [])
  assert.deepEqual(
    index.search('night', [travel, leave, office], 1).map(({ id }) => id),
    [office],
  )
})

test('a removed passage is never found, even after compaction', () => {
  const index = new PassageIndex()
  const ids = Array.from({ length: 20 }, (_, number) => index.add('', `tea number${number}`))
  index.remove(ids.slice(0, 15))
  index.remove(ids.slice(0, 15))
  assert.deepEqual(
    index.search('tea', ids, 20).map(({ id }) => id),
    ids.slice(15),
  )
  const added = index.add('', 'tea tea')
  assert.equal(index.search('tea', [...ids, added], 1)[0]?.id, added)
})

test('a score reveals nothing about passages that are not candidates', () => {
  const smallIndex = new PassageIndex()
  const smallIds = [smallIndex.add('', 'bonus plan'), smallIndex.add('', 'office rules')]
  const largeIndex = new PassageIndex()
  const largeIds = [largeIndex.add('', 'bonus plan'), largeIndex.add('', 'office rules')]
  for (let count = 0; count < 50; count++) largeIndex.add('Bonus', 'secret bonus bonuses')
  assert.deepEqual(largeIndex.search('bonus', largeIds, 5), smallIndex.search('bonus', smallIds, 5))
})

test('a passage with related words of an English query has a part of its score, computed over the candidates alone', () => {
  const index = new PassageIndex()
  const parking = index.add('Vehicles', 'Guests leave their automobile on level 2.')
  const other = index.add('Lunch', 'Soup at noon.')
  const scoresOf = (query: string) => [parking, other].map((id) => index.relatedScores(query, [parking, other])?.get(id))
  const scores = scoresOf('Where do visitors park their car?')
  assert.ok(scores[0]! > 0.2 && scores[0]! < 1)
  assert.equal(scores[1], undefined)
  assert.equal(index.relatedScores('Wo steht das Auto der Gäste?', [parking, other]), undefined)
  for (let count = 0; count < 50; count++) index.add('Cars', 'secret cars of visitors')
  assert.deepEqual(scoresOf('Where do visitors park their car?'), scores)
})
