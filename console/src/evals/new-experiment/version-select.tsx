import { Select } from '@mantine/core'
import { useHistory } from '../../agent/queries.ts'
import { messageOf } from '../../api/errors.ts'

interface VersionSelectProps {
  label: string
  value: string | undefined
  onChange: (version: string | undefined) => void
}

const time = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

/** A version of the configuration, the newest first. Older pages are loaded by the last choice. */
export function VersionSelect({ label, value, onChange }: VersionSelectProps) {
  const versions = useHistory()
  const options = versions.rows.map(({ version, at, by }) => ({
    value: version,
    label: `${version.slice(0, 12)}, ${time.format(new Date(at))}, by ${by.slice(0, 60)}`,
  }))
  const more = { value: '', label: 'Load older versions' }
  return (
    <Select
      label={label}
      required
      searchable
      data={versions.hasMore ? [...options, more] : options}
      value={value ?? null}
      error={versions.error ? messageOf(versions.error) : undefined}
      onChange={(version) => (version === '' ? versions.loadMore() : onChange(version ?? undefined))}
    />
  )
}
