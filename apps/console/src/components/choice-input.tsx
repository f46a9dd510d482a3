import { NativeSelect } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'

type Props = {
  label: string
  value: string
  /** Default: yes and no. */
  options?: readonly (string | number)[]
  /** The text of an option. Default: the option itself. */
  optionText?: (option: string) => string
  id?: string
  error?: ReactNode
  onChange(value: string): void
}

/** Select for an API field with a few values, which may also be unset. */
export function ChoiceInput({ label, value, options, optionText = String, id, error, onChange }: Props) {
  const { t } = useTranslation()
  return (
    <NativeSelect
      id={id}
      label={label}
      error={error}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={[
        { value: '', label: t('app.notSet') },
        ...(options?.map(String).map((option) => ({ value: option, label: optionText(option) })) ?? [
          { value: 'true', label: t('app.yes') },
          { value: 'false', label: t('app.no') },
        ]),
      ]}
    />
  )
}
