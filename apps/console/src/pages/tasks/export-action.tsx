import type { TaskSearch } from '@herald/client'
import { Button, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { listTasks } from '../../api/calls.ts'
import { taskCsv } from '../../calculations/task-csv.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { saveFile } from '../../components/save-file.ts'
import { useLabels } from '../../i18n/labels.ts'
import { useAppId } from '../../session/session.ts'

const PAGE_SIZE = 1000
/** People read such a file; programs that need more call the API. */
const MAX_TASKS = 10_000

/** Saves the tasks of the filter as a CSV file, the newest first. */
export function ExportAction({ search }: { search: TaskSearch }) {
  const { t } = useTranslation()
  const { format } = useLabels()
  const appId = useAppId()
  const saving = useMutation({
    mutationFn: async () => {
      const tasks = []
      let before: number | undefined
      for (let isMore = true; isMore && tasks.length < MAX_TASKS; ) {
        const { list, next } = await listTasks(appId, { ...search, limit: PAGE_SIZE, before })
        tasks.push(...list)
        isMore = next !== null
        if (next !== null) before = Number(next)
      }
      saveFile(new Blob([taskCsv(tasks)], { type: 'text/csv' }), 'tasks.csv')
      return tasks.length
    },
  })
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconDownload size={16} aria-hidden />}
        loading={saving.isPending}
        onClick={() => saving.mutate()}
      >
        {t('tasks.export')}
      </Button>
      {saving.isError && <ErrorAlert error={saving.error} />}
      {(saving.data ?? 0) >= MAX_TASKS && (
        <Text size="sm" c="dimmed" role="status">
          {t('tasks.exportCut', { n: format.number(MAX_TASKS) })}
        </Text>
      )}
    </>
  )
}
