import { NumberInput } from '@mantine/core'
import { amountParts, type AmountPart, type Amounts } from './amounts.ts'

interface AmountFieldsProps {
  /** An object with the parts that have a field. */
  parts: Amounts
  /** A part is undefined while its field is empty. */
  value: Amounts
  onChange: (value: Amounts) => void
  labels: Record<AmountPart, string>
}

const limits = { usd: { max: 1_000_000, decimalScale: 9 }, tokens: { max: 1_000_000_000_000, allowDecimal: false } } as const

/** Fields for the parts of an amount. */
export function AmountFields({ parts, value, onChange, labels }: AmountFieldsProps) {
  return amountParts.map(
    (part) =>
      parts[part] !== undefined && (
        <NumberInput
          key={part}
          label={labels[part]}
          required
          min={0}
          thousandSeparator=","
          hideControls
          {...limits[part]}
          value={value[part] ?? ''}
          onChange={(amount) => onChange({ ...value, [part]: typeof amount === 'number' ? amount : undefined })}
        />
      ),
  )
}
