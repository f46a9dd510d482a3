import { NativeSelect } from '@mantine/core'
import { useTranslation } from 'react-i18next'

type Props = {
  label: string
  value: string
  /** Values that are shown as they are; without them it is a yes or no. */
  options?: readonly string[]
  onChange(value: string): void
}

/** A field of an interface that has a few values, or is not set at all. */
export function ChoiceInput({ label, value, options, onChange }: Props) {
  const { t } = useTranslation()
  return (
    <NativeSelect
      label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={[
        { value: '', label: t('app.notSet') },
        ...(options?.map((option) => ({ value: option, label: option })) ?? [
          { value: 'true', label: t('app.yes') },
          { value: 'false', label: t('app.no') },
        ]),
      ]}
    />
  )
}
