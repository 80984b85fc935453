/* The way from Python into linked kernels.
 *
 * A kernel takes words of eight bytes: an array is borrowed as (0, 0, items, item size, data, shape..., strides...), a tuple is its
 * items one after the other, a number is itself. What an argument must be is said by a string: a and c are arrays that are
 * written or only read, followed by the type of their items and the number of dimensions; ( and ) enclose a tuple; n is None; other
 * letters are numbers. Whatever does not fit is a TypeError. The GIL is released while a kernel runs. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stdlib.h>
#include <string.h>

#include "glue.h"

/* What numba's code asks for where a kernel allocates. The layout is that of numba's memory infos. */

typedef struct {
    size_t references;
    void (*destroy)(void *, size_t, void *);
    void *destroy_with;
    void *data;
    size_t size;
    void *allocator;
} memory_info;

void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    if (size > PTRDIFF_MAX - 2 * (size_t)align - sizeof(memory_info)) return NULL;
    memory_info *info = malloc(sizeof(memory_info) + size + 2 * (size_t)align);
    if (info == NULL) return NULL;
    uintptr_t data = (uintptr_t)(info + 1);
    if (align) data = (data + align - 1) / align * align;
    *info = (memory_info){1, NULL, NULL, (void *)data, size, NULL};
    return info;
}

void *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) { return NRT_MemInfo_alloc_aligned(size, align); }

void *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }

void NRT_MemInfo_call_dtor(memory_info *info) {
    if (info->destroy) info->destroy(info->data, info->size, info->destroy_with);
    free(info);
}

void *NRT_Allocate(size_t size) { return malloc(size ? size : 1); }

void NRT_Free(void *data) { free(data); }

static void release_varsize(void *data, size_t size, void *with) {
    if (with != NULL) ((void (*)(void *, size_t, void *))with)(data, size, NULL);
    free(data);
}

void *NRT_MemInfo_new_varsize_dtor(size_t size, void *destroy) {
    memory_info *info = malloc(sizeof(memory_info));
    void *data = info == NULL ? NULL : NRT_Allocate(size);
    if (data == NULL) {
        free(info);
        return NULL;
    }
    *info = (memory_info){1, release_varsize, destroy, data, size, NULL};
    return info;
}

void *NRT_MemInfo_new_varsize(size_t size) { return NRT_MemInfo_new_varsize_dtor(size, NULL); }

/* Arrays in kernels are contiguous, so their items stay where they are in any other shape. */
int numba_attempt_nocopy_reshape(npy_intp nd, const npy_intp *dims, const npy_intp *strides, npy_intp new_nd, const npy_intp *new_dims,
                                 npy_intp *new_strides, npy_intp itemsize, int fortran) {
    npy_intp step = itemsize, items = 1;
    if (fortran) return 0;
    for (npy_intp axis = 0; axis < nd; axis++) items *= dims[axis];
    for (npy_intp axis = nd - 1; items && axis >= 0; axis--) {
        if (dims[axis] != 1 && strides[axis] != step) return 0;
        step *= dims[axis];
    }
    step = itemsize;
    for (npy_intp axis = new_nd - 1; axis >= 0; axis--) {
        new_strides[axis] = step;
        step *= new_dims[axis];
    }
    return 1;
}

/* Arguments in. */

static int refuse(char *why, const char *text) {
    snprintf(why, 200, "%s", text);
    return -1;
}

static int type_fits(PyArrayObject *array, char type) {
    char kind = PyArray_DESCR(array)->kind;
    int size = (int)PyArray_ITEMSIZE(array);
    switch (type) {
        case 'l': return kind == 'i' && size == 8;
        case 'i': return kind == 'i' && size == 4;
        case 'h': return kind == 'i' && size == 2;
        case 'g': return kind == 'i' && size == 1;
        case 'L': return kind == 'u' && size == 8;
        case 'B': return kind == 'u' && size == 1;
        case 'd': return kind == 'f' && size == 8;
        case '?': return kind == 'b';
    }
    return 0;
}

static int pack_array(const char **spec, PyObject *given, uint64_t **words, char *why) {
    int written = *(*spec)++ == 'a';
    char type = *(*spec)++;
    int dimensions = *(*spec)++ - '0';
    if (!PyArray_Check(given)) return refuse(why, "an array is expected");
    PyArrayObject *array = (PyArrayObject *)given;
    if (!type_fits(array, type) || !PyArray_ISNOTSWAPPED(array)) return refuse(why, "an array has items of another type");
    if (PyArray_NDIM(array) != dimensions) return refuse(why, "an array has another number of dimensions");
    if (!PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISALIGNED(array)) return refuse(why, "an array is not contiguous");
    if (written && !PyArray_ISWRITEABLE(array)) return refuse(why, "an array is read-only");
    *(*words)++ = 0;
    *(*words)++ = 0;
    *(*words)++ = (uint64_t)PyArray_SIZE(array);
    *(*words)++ = (uint64_t)PyArray_ITEMSIZE(array);
    *(*words)++ = (uint64_t)(uintptr_t)PyArray_DATA(array);
    for (int axis = 0; axis < dimensions; axis++) *(*words)++ = (uint64_t)PyArray_DIM(array, axis);
    for (int axis = 0; axis < dimensions; axis++) *(*words)++ = (uint64_t)PyArray_STRIDE(array, axis);
    return 0;
}

static int pack(const char **spec, PyObject *given, uint64_t **words, char *why) {
    char kind = **spec;
    if (kind == 'a' || kind == 'c') return pack_array(spec, given, words, why);
    (*spec)++;
    if (kind == '(') {
        if (!PyTuple_Check(given)) return refuse(why, "a tuple is expected");
        Py_ssize_t size = PyTuple_GET_SIZE(given), taken = 0;
        while (**spec != ')') {
            if (taken == size) return refuse(why, "a tuple has too few items");
            if (pack(spec, PyTuple_GET_ITEM(given, taken++), words, why)) return -1;
        }
        (*spec)++;
        return taken == size ? 0 : refuse(why, "a tuple has too many items");
    }
    uint64_t word = 0;
    if (kind == 'n') {
        if (given != Py_None) return refuse(why, "None is expected");
    } else if (kind == 'd') {
        if (!PyFloat_Check(given)) return refuse(why, "a float is expected");
        double value = PyFloat_AS_DOUBLE(given);
        memcpy(&word, &value, sizeof value);
    } else if (kind == 'b') {
        if (!PyBool_Check(given) && !PyArray_IsScalar(given, Bool)) return refuse(why, "a bool is expected");
        int truth = PyObject_IsTrue(given);
        if (truth < 0) return -1;
        word = (uint64_t)truth;
    } else {
        if (PyBool_Check(given) || PyFloat_Check(given) || !PyIndex_Check(given)) return refuse(why, "a whole number is expected");
        PyObject *number = PyNumber_Index(given);
        if (number == NULL) return -1;
        word = kind == 'L' ? (uint64_t)PyLong_AsUnsignedLongLong(number) : (uint64_t)PyLong_AsLongLong(number);
        Py_DECREF(number);
        if (word == (uint64_t)-1 && PyErr_Occurred()) return -1;
    }
    *(*words)++ = word;
    return 0;
}

/* Results out: in memory as a C compiler would lay them out. */

static PyObject *unpack(const char **spec, char **place);

static size_t size_of(char kind) { return kind == 'b' || kind == 'B' ? 1 : kind == 'h' ? 2 : kind == 'i' ? 4 : 8; }

static void align_to(char **place, size_t size) { *place = (char *)(((uintptr_t)*place + size - 1) / size * size); }

static PyObject *unpack_array(const char **spec, char **place) {
    char type = *(*spec)++;
    int dimensions = *(*spec)++ - '0';
    align_to(place, 8);
    uint64_t *words = (uint64_t *)*place;
    *place += (5 + 2 * dimensions) * 8;
    npy_intp shape[8];
    for (int axis = 0; axis < dimensions; axis++) shape[axis] = (npy_intp)words[5 + axis];
    int number = type == 'l' ? NPY_INT64 : type == 'i' ? NPY_INT32 : type == 'h' ? NPY_INT16 : type == 'L' ? NPY_UINT64
               : type == 'B' ? NPY_UINT8 : type == 'd' ? NPY_FLOAT64 : NPY_BOOL;
    PyObject *array = PyArray_SimpleNew(dimensions, shape, number);
    if (array != NULL) memcpy(PyArray_DATA((PyArrayObject *)array), (void *)(uintptr_t)words[4], words[2] * words[3]);
    memory_info *info = (memory_info *)(uintptr_t)words[0];
    if (info != NULL && --info->references == 0) NRT_MemInfo_call_dtor(info);
    return array;
}

static PyObject *unpack(const char **spec, char **place) {
    char kind = *(*spec)++;
    if (kind == 'n') Py_RETURN_NONE;
    if (kind == 'a') return unpack_array(spec, place);
    if (kind == '(') {
        PyObject *items = PyList_New(0);
        align_to(place, 8);
        while (items != NULL && **spec != ')') {
            PyObject *item = unpack(spec, place);
            if (item == NULL || PyList_Append(items, item) < 0) Py_CLEAR(items);
            Py_XDECREF(item);
        }
        if (items == NULL) return NULL;
        (*spec)++;
        PyObject *tuple = PyList_AsTuple(items);
        Py_DECREF(items);
        return tuple;
    }
    size_t size = size_of(kind);
    align_to(place, size);
    char *at = *place;
    *place += size;
    switch (kind) {
        case 'l': return PyLong_FromLongLong(*(int64_t *)at);
        case 'L': return PyLong_FromUnsignedLongLong(*(uint64_t *)at);
        case 'i': return PyLong_FromLong(*(int32_t *)at);
        case 'h': return PyLong_FromLong(*(int16_t *)at);
        case 'B': return PyLong_FromLong(*(uint8_t *)at);
        case 'd': return PyFloat_FromDouble(*(double *)at);
    }
    return PyBool_FromLong(*at & 1);
}

static PyObject *failed(int status, void *failure) {
    if (status <= 0 || failure == NULL) return PyErr_Format(PyExc_SystemError, "a kernel ended with the status %d", status);
    struct { const char *data; int32_t size; } *told = failure;
    PyObject *pickle = PyImport_ImportModule("pickle");
    PyObject *said = pickle == NULL ? NULL : PyObject_CallMethod(pickle, "loads", "y#", told->data, (Py_ssize_t)told->size);
    Py_XDECREF(pickle);
    if (said == NULL) return NULL;
    PyObject *type = PyTuple_Check(said) && PyTuple_GET_SIZE(said) > 1 ? PyTuple_GET_ITEM(said, 0) : PyExc_SystemError;
    PyObject *arguments = type == PyExc_SystemError ? NULL : PyTuple_GET_ITEM(said, 1);
    PyErr_SetObject(type, arguments);
    Py_DECREF(said);
    return NULL;
}

static PyObject *run(const overload *form, uint64_t *words) {
    void *failure = NULL;
    uint64_t result[(form->result_bytes + 7) / 8 + 1];
    int status;
    memset(result, 0, sizeof result);
    Py_BEGIN_ALLOW_THREADS
    status = form->run(result, words, &failure);
    Py_END_ALLOW_THREADS
    if (status != 0 && status != -2) return failed(status, failure);
    const char *spec = form->result;
    char *place = (char *)result;
    return unpack(&spec, &place);
}

static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    const kernel *called = PyCapsule_GetPointer(self, NULL);
    char why[200] = "";
    if (called == NULL) return NULL;
    for (int number = 0; number < called->count; number++) {
        const overload *form = &called->overloads[number];
        if (count != form->count) {
            snprintf(why, sizeof why, "%d arguments are expected, %zd were given", form->count, count);
            continue;
        }
        uint64_t words[form->words + 1], *end = words;
        const char *spec = form->arguments;
        Py_ssize_t taken = 0;
        while (taken < count && pack(&spec, given[taken], &end, why) == 0) taken++;
        if (PyErr_Occurred()) return NULL;
        if (taken == count) {
            if (end - words != form->words) return PyErr_Format(PyExc_SystemError, "%s takes other words", called->name);
            return run(form, words);
        }
        size_t length = strlen(why);
        snprintf(why + length, sizeof why - length, " (argument %zd)", taken + 1);
    }
    return PyErr_Format(PyExc_TypeError, "%s: %s", called->name, why);
}

static PyMethodDef call_definition = {"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, "Run a linked kernel."};

static PyObject *find(PyObject *self, PyObject *name) {
    const char *asked = PyUnicode_AsUTF8(name);
    (void)self;
    if (asked == NULL) return NULL;
    for (int number = 0; number < eventide_kernel_count; number++)
        if (strcmp(eventide_kernels[number].name, asked) == 0) {
            PyObject *capsule = PyCapsule_New((void *)&eventide_kernels[number], NULL, NULL);
            PyObject *function = capsule == NULL ? NULL : PyCFunction_New(&call_definition, capsule);
            Py_XDECREF(capsule);
            return function;
        }
    Py_RETURN_NONE;
}

static PyObject *names(PyObject *self, PyObject *none) {
    PyObject *list = PyList_New(0);
    (void)self;
    (void)none;
    for (int number = 0; list != NULL && number < eventide_kernel_count; number++) {
        PyObject *name = PyUnicode_FromString(eventide_kernels[number].name);
        if (name == NULL || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"find", find, METH_O, "Return a kernel by its name, or None."},
    {"names", names, METH_NOARGS, "Return the names of all kernels."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_linked", "Kernels that were compiled ahead of time.", -1, methods,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__linked(void) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) {
        PyErr_SetString(PyExc_ImportError, "this processor is older than x86-64-v2");
        return NULL;
    }
#endif
    import_array();
    return PyModule_Create(&definition);
}
