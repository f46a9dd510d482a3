import { NativeSelect } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useLabels } from '../../i18n/labels.ts'
import type { VendorForm } from './vendor-forms.ts'

type Props = { form: VendorForm; used: readonly string[]; onChange(used: string[]): void }

/** Which of the credentials a vendor offers are used: one of them, or all. */
export function OneNeededInput({ form, used, onChange }: Props) {
  const { t } = useTranslation()
  const { text, format } = useLabels()
  const names = form.oneNeeded.map((to) => text(form.fields.find((field) => field.to === to)!.label))
  return (
    <NativeSelect
      label={t('certificates.oneNeeded')}
      value={used.join()}
      onChange={({ currentTarget }) => onChange(currentTarget.value.split(','))}
      data={[
        ...form.oneNeeded.map((to, index) => ({ value: to, label: names[index]! })),
        { value: form.oneNeeded.join(), label: format.list(names) },
      ]}
    />
  )
}
