import { NumberInput, Select, TextInput, Textarea } from '@mantine/core'
import { browserZone, type Draft } from './draft.ts'
import { kinds, toCron, weekdays } from './pattern.ts'
import { NextTimes } from './times.tsx'
import styles from './schedules.module.css'

interface FieldsProps {
  draft: Draft
  onChange: (draft: Draft) => void
}

/** The fields of a schedule: question, times with a preview, and rare settings. */
export function ScheduleFields({ draft, onChange }: FieldsProps) {
  const set = (changed: Partial<Draft>): void => onChange({ ...draft, ...changed })
  return (
    <>
      <Textarea
        label="Question"
        description="What the agent is asked each time."
        required
        autosize
        minRows={3}
        maxRows={12}
        maxLength={100_000}
        data-autofocus
        value={draft.question}
        onChange={(event) => set({ question: event.currentTarget.value })}
      />
      <TextInput
        label="Name"
        placeholder="The beginning of the question"
        maxLength={200}
        value={draft.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <TimeFields draft={draft} set={set} />
      {draft.kind !== 'once' && <NextTimes cron={toCron(draft)} timezone={draft.timezone} />}
      <details className={styles.more}>
        <summary>More settings</summary>
        <RareFields draft={draft} set={set} />
      </details>
    </>
  )
}

interface PartProps {
  draft: Draft
  set: (changed: Partial<Draft>) => void
}

const days = [
  ...Array.from({ length: 31 }, (_, index) => ({ value: `${index + 1}`, label: `${index + 1}` })),
  { value: 'L', label: 'last' },
]
/** Zones with former names in the lists of browsers. */
const renamed = ['Asia/Ho_Chi_Minh', 'Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Yangon', 'Europe/Kyiv', 'America/Argentina/Buenos_Aires']
const zones = [...new Set([browserZone, 'UTC', ...[...Intl.supportedValuesOf('timeZone'), ...renamed].toSorted()])]

function TimeFields({ draft, set }: PartProps) {
  const { kind } = draft
  return (
    <div className={styles.fields}>
      <Select label="Repeats" data={kinds} value={kind} onChange={(value) => value && set({ kind: value })} allowDeselect={false} />
      {kind === 'weekly' && (
        <Select
          label="On"
          data={weekdays.map((label, index) => ({ value: `${index}`, label }))}
          value={draft.weekday}
          onChange={(value) => value && set({ weekday: value })}
          allowDeselect={false}
        />
      )}
      {kind === 'monthly' && (
        <Select label="On day" data={days} value={draft.day} onChange={(value) => value && set({ day: value })} allowDeselect={false} />
      )}
      {kind === 'cron' && (
        <TextInput
          label="Pattern"
          description="Minute, hour, day of month, month, day of week"
          required
          maxLength={200}
          classNames={{ input: styles.pattern! }}
          value={draft.cron}
          onChange={(event) => set({ cron: event.currentTarget.value })}
        />
      )}
      {kind === 'once' ? (
        <TextInput
          type="datetime-local"
          label={`Time (${browserZone})`}
          required
          value={draft.once}
          onChange={(event) => set({ once: event.currentTarget.value })}
        />
      ) : (
        <>
          {kind !== 'cron' && (
            <TextInput
              type="time"
              label={kind === 'hourly' ? 'At the minute of' : 'At'}
              required
              value={draft.time}
              onChange={(event) => set({ time: event.currentTarget.value })}
            />
          )}
          <Select
            label="Time zone"
            data={zones.includes(draft.timezone) ? zones : [draft.timezone, ...zones]}
            searchable
            limit={100}
            nothingFoundMessage="No such time zone"
            value={draft.timezone}
            onChange={(value) => value && set({ timezone: value })}
            allowDeselect={false}
          />
        </>
      )}
    </div>
  )
}

const overlaps = [
  { value: 'skip', label: 'Leave the new time out' },
  { value: 'queue', label: 'Let one time wait' },
  { value: 'cancel_running', label: 'Cancel the run before' },
  { value: 'allow', label: 'Run both' },
]
const catchUps = [
  { value: 'latest', label: 'Run the latest missed time' },
  { value: 'skip', label: 'Run no missed time' },
  { value: 'all', label: 'Run the last 10 missed times' },
]
const sessions = [
  { value: 'new', label: 'A new one each time' },
  { value: 'same', label: 'One for all runs' },
]

function RareFields({ draft, set }: PartProps) {
  return (
    <div className={styles.fields}>
      <Select
        label="Conversation"
        data={draft.session === 'other' ? [{ value: 'other', label: 'An own one, as before' }, ...sessions] : sessions}
        value={draft.session}
        onChange={(value) => value && set({ session: value as Draft['session'] })}
        allowDeselect={false}
      />
      <Select
        label="While the run before goes on"
        data={overlaps}
        value={draft.overlap}
        onChange={(value) => value && set({ overlap: value as Draft['overlap'] })}
        allowDeselect={false}
      />
      <Select
        label="After an outage"
        data={catchUps}
        value={draft.catchUp}
        onChange={(value) => value && set({ catchUp: value as Draft['catchUp'] })}
        allowDeselect={false}
      />
      <NumberInput
        label="How late"
        description="Seconds after which a missed time runs no more"
        min={60}
        max={604_800}
        allowDecimal={false}
        value={draft.catchUpWindow}
        onChange={(value) => set({ catchUpWindow: Number(value) || 0 })}
      />
      {draft.kind !== 'once' && <BoundFields draft={draft} set={set} />}
      <NumberInput
        label="Random delay"
        description="Seconds at most, so that not all runs start at once"
        min={0}
        max={3600}
        allowDecimal={false}
        value={draft.jitter}
        onChange={(value) => set({ jitter: Number(value) || 0 })}
      />
      <NumberInput
        label="Pause after failures"
        description="Failed runs in a row; 0: never"
        min={0}
        max={100}
        allowDecimal={false}
        value={draft.pauseAfterFailures}
        onChange={(value) => set({ pauseAfterFailures: Number(value) || 0 })}
      />
      <TextInput
        type="url"
        label="Webhook"
        description="An address that each answer is sent to"
        placeholder="https://"
        maxLength={2000}
        value={draft.callbackUrl}
        onChange={(event) => set({ callbackUrl: event.currentTarget.value })}
      />
    </div>
  )
}

/** When a repeated schedule begins and ends. */
function BoundFields({ draft, set }: PartProps) {
  return (
    <>
      <TextInput
        type="datetime-local"
        label={`Not before (${browserZone})`}
        value={draft.startsAt}
        onChange={(event) => set({ startsAt: event.currentTarget.value })}
      />
      <TextInput
        type="datetime-local"
        label={`Not after (${browserZone})`}
        value={draft.endsAt}
        onChange={(event) => set({ endsAt: event.currentTarget.value })}
      />
      <NumberInput
        label="Number of runs"
        description="Runs after which the schedule ends; empty: no limit"
        min={1}
        max={1_000_000}
        allowDecimal={false}
        value={draft.maxFires}
        onChange={(value) => set({ maxFires: Number(value) || '' })}
      />
    </>
  )
}
